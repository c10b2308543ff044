import { getEventListeners } from 'node:events';

import test from 'ava';
import type { PdfHooks, PdfImageStream } from 'koa-gatehouse/pdf';

import { PDF, clientOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, json } from './fault-server.ts';

test('a signal that is aborted before the call: nothing is sent, and no file is opened', async (t) => {
  await using service = await faultServer(json(TREE));
  const reason = new Error('Cancelled');
  const call = clientOf(service).extract('/does/not/exist', { signal: AbortSignal.abort(reason) });
  t.is(await t.throwsAsync(call), reason);
  t.is(service.received.length, 0);
});

test('aborted during a request: its connection is closed, and it is not repeated', async (t) => {
  const gone = new AbortController();
  const closed = Promise.withResolvers<void>();
  await using service = await faultServer((request) => {
    request.on('close', closed.resolve).resume();
    gone.abort();
  });
  const error = await t.throwsAsync(clientOf(service).extract(PDF, { signal: gone.signal }), {
    instanceOf: DOMException,
    name: 'AbortError',
  });
  t.is(error, gone.signal.reason);
  await closed.promise;
  t.is(service.received.length, 1);
});

test('a call aborted during an upload rejects with an AbortError', async (t) => {
  const gone = new AbortController();
  await using service = await faultServer((request) => request.pause());
  const call = clientOf(service).extract(new Uint8Array(50_000_000), {
    signal: gone.signal,
    onUploadProgress: () => gone.abort(),
  });
  await t.throwsAsync(call, { name: 'AbortError' });
});

test('a call aborted during a response rejects with an AbortError', async (t) => {
  const gone = new AbortController();
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(200).write('{"kids":');
  });
  const options = { signal: gone.signal, onDownloadProgress: () => gone.abort() };
  await t.throwsAsync(clientOf(service).extract(PDF, options), { name: 'AbortError' });
});

test('a call aborted during an error response rejects with an AbortError', async (t) => {
  const gone = new AbortController();
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(422).write('{"error":');
  });
  const hooks: PdfHooks = { onResponse: () => setImmediate(() => gone.abort()) };
  const call = clientOf(service, { hooks }).extract(PDF, { signal: gone.signal });
  await t.throwsAsync(call, { name: 'AbortError' });
});

test('aborted by a hook before the request is sent', async (t) => {
  const gone = new AbortController();
  await using service = await faultServer(json(TREE));
  const hooks: PdfHooks = { onRequest: () => gone.abort() };
  const call = clientOf(service, { hooks }).extract(PDF, { signal: gone.signal });
  await t.throwsAsync(call, { name: 'AbortError' });
  t.is(service.received.length, 0);
});

test('a call aborted while it waits for its next attempt rejects at once', async (t) => {
  const gone = new AbortController();
  await using service = await faultServer(answer(503, ''));
  const hooks: PdfHooks = {
    onRetry() {
      setImmediate(() => gone.abort(new Error('No time')));
    },
  };
  const call = clientOf(service, { hooks, retryDelay: '30 seconds' }).extract(PDF, { signal: gone.signal });
  const startedAt = performance.now();
  await t.throwsAsync(call, { message: 'No time' });
  // The delay would be at least 15 seconds.
  t.true(performance.now() - startedAt < 10_000);
  t.is(service.received.length, 1);
});

test('AbortSignal.timeout limits a call with all its attempts', async (t) => {
  await using service = await faultServer(answer(503, ''));
  const call = clientOf(service, { retries: 100, retryDelay: '20 ms' }).extract(PDF, {
    signal: AbortSignal.timeout(100),
  });
  await t.throwsAsync(call, { instanceOf: DOMException, name: 'TimeoutError' });
});

test('a signal shared by many calls keeps no listener of a completed call', async (t) => {
  await using service = await faultServer(json(TREE));
  const gone = new AbortController();
  for (let calls = 0; calls < 5; calls += 1) await clientOf(service).extract(PDF, { signal: gone.signal });
  t.deepEqual(getEventListeners(gone.signal, 'abort'), []);
});

/** A server that sends the beginning of an image and waits. */
async function sendHalfImage(): Promise<{
  service: Awaited<ReturnType<typeof faultServer>>;
  closed: Promise<void>;
}> {
  const closed = Promise.withResolvers<void>();
  const service = await faultServer((request, response) => {
    request.resume();
    response.on('close', closed.resolve);
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': String(PNG.byteLength) });
    response.write(PNG.subarray(0, 20));
  });
  return { service, closed: closed.promise };
}

async function read({ stream }: PdfImageStream): Promise<void> {
  for await (const chunk of stream) if (chunk === undefined) return;
}

test('an image stream aborted while it is read rejects with an AbortError', async (t) => {
  const { service, closed } = await sendHalfImage();
  t.teardown(async () => service[Symbol.asyncDispose]());
  const gone = new AbortController();
  const image = await clientOf(service).renderStream(PDF, { signal: gone.signal });
  image.stream.once('data', () => gone.abort());
  await t.throwsAsync(read(image), { name: 'AbortError' });
  await closed;
});

test('an image stream that is not read: destroying it closes the connection', async (t) => {
  const { service, closed } = await sendHalfImage();
  t.teardown(async () => service[Symbol.asyncDispose]());
  const image = await clientOf(service, { timeout: '60000 ms' }).renderStream(PDF);
  image.stream.destroy();
  await closed;
  t.pass();
});
