import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';

import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, answer, faultServer, png } from './fault-server.ts';

test('an image stream is returned while the image arrives, with its type and length', async (t) => {
  const rest = Promise.withResolvers<void>();
  await using service = await faultServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': String(PNG.byteLength) });
    response.write(PNG.subarray(0, 30));
    await rest.promise;
    response.end(PNG.subarray(30));
  });
  const { stream, contentType, contentLength } = await clientOf(service).renderStream(PDF, { page: 2 });
  t.is(contentType, 'image/png');
  t.is(contentLength, PNG.byteLength);
  const [first] = await once(stream, 'data');
  t.deepEqual(first, PNG.subarray(0, 30));
  rest.resolve();
  t.deepEqual(await buffer(stream), PNG.subarray(30));
  t.is(service.received[0]!.url, '/render?page=2');
});

test('attempts are repeated until the response begins, and not later', async (t) => {
  await using service = await faultServer(answer(503, ''), (request) => request.socket.destroy(), png);
  t.deepEqual(await buffer((await clientOf(service).renderStream(PDF)).stream), PNG);
  t.is(service.received.length, 3);

  await using cut = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    response.write(PNG.subarray(0, 30), () => setImmediate(() => request.socket.destroy()));
  });
  const image = await clientOf(cut).renderStream(PDF);
  t.like(await errorOf(buffer(image.stream)), { code: 'ERR_PDF_CONNECTION', attempts: 1 });
  t.is(cut.received.length, 1);
});

test('an image of unknown length may take longer than the timeout while data arrives', async (t) => {
  await using service = await faultServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    for (let sent = 0; sent < PNG.byteLength; sent += 10) {
      response.write(PNG.subarray(sent, sent + 10));
      await delay(900);
    }
    response.end();
  });
  const image = await clientOf(service, { timeout: '6 seconds' }).renderStream(PDF);
  t.is(image.contentLength, undefined);
  t.deepEqual(await buffer(image.stream), PNG);
});

test('an image that stops arriving ends the stream with an error', async (t) => {
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' }).write(PNG.subarray(0, 10));
  });
  const { stream } = await clientOf(service, { timeout: '2 seconds' }).renderStream(PDF);
  t.is((await errorOf(buffer(stream))).code, 'ERR_PDF_TIMEOUT');
});

test('an image that is incomplete, empty or too large ends the stream with an error', async (t) => {
  for (const [body, says] of [
    [PNG.subarray(0, -1), /is an incomplete image\.$/],
    [Buffer.alloc(0), /is empty\.$/],
    [Buffer.alloc(5000), /is larger than 1000 bytes/],
  ] as const) {
    await using service = await faultServer(answer(200, body, { 'content-type': 'image/png' }));
    const { stream } = await clientOf(service, { maxResponseBytes: 1000 }).renderStream(PDF);
    const error = await errorOf(buffer(stream));
    t.like(error, { code: 'ERR_PDF_RESPONSE', attempts: 1 });
    t.regex(error.message, says);
  }
});

test('the stream has backpressure: little is buffered for a slow reader', async (t) => {
  let written = 0;
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    const more = (): void => {
      while (!response.destroyed && written < 100_000_000 && response.write(Buffer.alloc(65_536)))
        written += 65_536;
    };
    response.on('drain', more);
    more();
  });
  const { stream } = await clientOf(service).renderStream(PDF);
  await once(stream, 'readable');
  // Until the buffers between service and reader are full.
  for (let before = -1; before !== written;) {
    before = written;
    await delay(50);
  }
  t.true(written < 20_000_000, String(written));
  stream.destroy();
});
