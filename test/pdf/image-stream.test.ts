import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

import test from 'ava';
import { PdfError } from 'koa-gatehouse/pdf';

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
  const [first] = await stream.take(1).toArray();
  t.deepEqual(first, PNG.subarray(0, 30));
  rest.resolve();
  t.is(service.received[0]!.url, '/render?page=2');
});

test('the stream has the bytes of the image, and its length may be unknown', async (t) => {
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    for (const byte of PNG) response.write(Buffer.of(byte));
    response.end();
  });
  const { stream, contentLength } = await clientOf(service).renderStream(PDF);
  t.is(contentLength, undefined);
  t.deepEqual(await buffer(stream), PNG);
});

test('attempts are repeated until the response begins, and not later', async (t) => {
  await using service = await faultServer(answer(503, ''), (request) => request.socket.destroy(), png);
  const { stream } = await clientOf(service).renderStream(PDF);
  t.deepEqual(await buffer(stream), PNG);
  t.is(service.received.length, 3);

  await using cut = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    response.write(PNG.subarray(0, 30), () => setImmediate(() => request.socket.destroy()));
  });
  const image = await clientOf(cut).renderStream(PDF);
  const error = await errorOf(buffer(image.stream));
  t.is(error.code, 'ERR_PDF_CONNECTION');
  t.is(error.attempts, 1);
  t.is(cut.received.length, 1);
});

test('an image may take longer than the timeout while data arrives', async (t) => {
  await using service = await faultServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    for (let sent = 0; sent < PNG.byteLength; sent += 10) {
      response.write(PNG.subarray(sent, sent + 10));
      await delay(600);
    }
    response.end();
  });
  const { stream } = await clientOf(service, { timeout: '3 seconds' }).renderStream(PDF);
  t.deepEqual(await buffer(stream), PNG);
});

test('an image that stops arriving ends the stream with an error', async (t) => {
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' }).write(PNG.subarray(0, 10));
  });
  const { stream } = await clientOf(service, { timeout: '60 ms' }).renderStream(PDF);
  const error = await errorOf(buffer(stream));
  t.is(error.code, 'ERR_PDF_TIMEOUT');
});

test('an error status, a wrong type or a refused connection rejects the call', async (t) => {
  for (const [reply, code] of [
    [answer(422, '{}'), 'ERR_PDF_HTTP'],
    [answer(200, '<html>', { 'content-type': 'text/html' }), 'ERR_PDF_RESPONSE'],
  ] as const) {
    await using service = await faultServer(reply);
    const error = await errorOf(clientOf(service).renderStream(PDF));
    t.is(error.code, code);
    t.is(error.attempts, 1);
  }
  t.is((await errorOf(clientOf({ origin: 'http://127.0.0.1:1' }).renderStream(PDF))).attempts, 3);
});

test('an image that is incomplete, empty or too large ends the stream with an error', async (t) => {
  for (const [body, says] of [
    [PNG.subarray(0, -1), /is an incomplete image\.$/],
    [Buffer.alloc(0), /is empty\.$/],
    [Buffer.alloc(5000), /is larger than 1000 bytes/],
    [Buffer.from('<html>'), /does not have the image format of its Content-Type\.$/],
  ] as const) {
    await using service = await faultServer(answer(200, body, { 'content-type': 'image/png' }));
    const { stream } = await clientOf(service, { maxResponseBytes: 1000 }).renderStream(PDF);
    const error = await t.throwsAsync(buffer(stream), { instanceOf: PdfError, code: 'ERR_PDF_RESPONSE' });
    t.regex(error.message, says);
    t.is(error.attempts, 1);
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
  await new Promise((resolve) => {
    stream.once('readable', resolve);
  });
  // Until the buffers between service and reader are full.
  for (let before = -1; before !== written;) {
    before = written;
    await delay(50);
  }
  t.true(written < 20_000_000, String(written));
  stream.destroy();
});
