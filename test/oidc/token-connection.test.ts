import test from '../harness/test.ts';

import { postForm } from '../harness/requests.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { shared } from '../harness/shared.ts';
import { FORM, invalid, outline, startTokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => {
  const server = stack.use(await startTokenPlatform());
  const { platform, endpoint, goodForm } = server;
  return { platform, endpoint, goodForm };
});

const MEGABYTE = 1024 * 1024;

test('a body of a megabyte, chunked too, gets 400, and then the connection is closed', async (t) => {
  const { platform, endpoint, goodForm } = await started();
  for (const type of [FORM, 'application/json', 'text/plain']) {
    for (const isChunked of [false, true]) {
      const connection = await RawConnection.open(platform.origin);
      if (!isChunked) connection.post('/oauth/token', 'x'.repeat(MEGABYTE), { 'Content-Type': type });
      else {
        connection.write(
          `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
        );
        for (let sent = 0; sent < MEGABYTE; sent += 8192) connection.write(`2000\r\n${'x'.repeat(8192)}\r\n`);
        connection.write('0\r\n\r\n');
      }
      const answer = await connection.answer();
      t.is(answer.status, 400, type);
      t.is(JSON.parse(answer.body).error, 'invalid_request', type);
      if (!isChunked) t.is(answer.headers.get('connection'), 'close', type);
      await connection.closed();
    }
  }
  // A client receives the response although it sends on.
  for (let round = 0; round < 3; round += 1) {
    const answer = await postForm(endpoint, `${goodForm}&x=${'x'.repeat(MEGABYTE)}`);
    t.deepEqual(outline(answer), invalid('The body is larger than 57344 bytes.'));
  }
});

test('after an invalid body the connection can be used again', async (t) => {
  const { platform, goodForm } = await started();
  const connection = await RawConnection.open(platform.origin);
  for (const [type, body] of [
    ['application/json', '{'],
    ['application/json', ''],
    [FORM, 'x'],
    [FORM, Buffer.from([0xff])],
  ] as const) {
    connection.post('/oauth/token', body, { 'Content-Type': type });
    t.is((await connection.answer()).status, 400, `${type} ${String(body)}`);
    connection.post('/oauth/token', goodForm, { 'Content-Type': FORM });
    t.is((await connection.answer()).status, 200, `after ${type} ${String(body)}`);
  }
  connection.write('GET /oauth/token HTTP/1.1\r\nHost: localhost\r\n\r\n');
  t.is((await connection.answer()).status, 405);
  connection.write(
    `PUT /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
  );
  t.is((await connection.answer()).status, 405);
  connection.post('/oauth/token', goodForm, { 'Content-Type': FORM });
  t.is((await connection.answer()).status, 200);
  connection.close();
});

test('a body that is not read closes the connection after the response', async (t) => {
  const { platform } = await started();
  const connection = await RawConnection.open(platform.origin);
  connection.post('/oauth/token', 'x'.repeat(1000), { 'Content-Type': 'text/plain' });
  const answer = await connection.answer();
  t.is(answer.status, 400);
  t.is(answer.headers.get('connection'), 'close');
  await connection.closed();
});

test('a chunked form is accepted', async (t) => {
  const { platform, goodForm } = await started();
  const connection = await RawConnection.open(platform.origin);
  connection.write(
    `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  for (const piece of goodForm.match(/.{1,7}/g)!)
    connection.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
  connection.write('0\r\n\r\n');
  t.is((await connection.answer()).status, 200);
  connection.post('/oauth/token', goodForm, { 'Content-Type': FORM });
  t.is((await connection.answer()).status, 200);
  connection.close();
});
