import { getEventListeners } from 'node:events';
import { buffer } from 'node:stream/consumers';

import test from '../../harness/test.ts';

import { PDF, clientOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, json } from './fault-server.ts';
import type { Reply } from './fault-server.ts';
import type { PdfCallOptions, PdfHooks } from '../../../lib/pdf/options.ts';

test('a signal that is aborted before the call: nothing is sent, and no file is opened', async (t) => {
  await using service = await faultServer(json(TREE));
  const reason = new Error('Cancelled');
  const call = clientOf(service).extract('/does/not/exist', { signal: AbortSignal.abort(reason) });
  t.is(await t.throwsAsync(call), reason);
  t.is(service.received.length, 0);
});

interface Moment {
  readonly reply: Reply;
  readonly hooks?: PdfHooks;
  readonly options?: PdfCallOptions;
  /** `undefined`: it depends on when the connection is made. */
  readonly requests?: number | undefined;
}

const begin =
  (status: number): Reply =>
  (request, response) => {
    request.resume();
    response.writeHead(status).write('{"kids":');
  };

const MOMENTS: Readonly<Record<string, (abort: () => void) => Moment>> = {
  'before the request is sent, by a hook': (abort) => ({
    reply: json(TREE),
    hooks: { onRequest: abort },
    requests: 0,
  }),
  'during an upload': (abort) => ({
    reply: (request) => request.pause(),
    options: { onUploadProgress: abort },
    requests: undefined,
  }),
  'before the response': (abort) => ({
    reply(request) {
      request.resume();
      abort();
    },
  }),
  'during a response': (abort) => ({ reply: begin(200), options: { onDownloadProgress: abort } }),
  'during an error response': (abort) => ({
    reply: begin(422),
    hooks: { onResponse: () => setImmediate(abort) },
  }),
};

for (const [when, moment] of Object.entries(MOMENTS)) {
  test(`aborted ${when}: the call rejects with the reason, and is not repeated`, async (t) => {
    const gone = new AbortController();
    const { hooks = {}, options, reply, requests } = { requests: 1, ...moment(() => gone.abort()) };
    const closed = Promise.withResolvers<void>();
    await using service = await faultServer((request, response, received) => {
      response.on('close', closed.resolve);
      return reply(request, response, received);
    });
    const call = clientOf(service, { hooks }).extract(new Uint8Array(20_000_000), {
      signal: gone.signal,
      ...options,
    });
    const error = await t.throwsAsync(call, { instanceOf: DOMException, name: 'AbortError' });
    t.is(error, gone.signal.reason);
    if (requests === 1) await closed.promise;
    if (requests === undefined) t.true(service.received.length <= 1);
    else t.is(service.received.length, requests);
  });
}

test('a call aborted while it waits for its next attempt rejects at once', async (t) => {
  const gone = new AbortController();
  await using service = await faultServer(answer(503, ''));
  const hooks: PdfHooks = { onRetry: () => setImmediate(() => gone.abort(new Error('No time'))) };
  const client = clientOf(service, { hooks, retryDelay: '30 seconds' });
  const startedAt = performance.now();
  await t.throwsAsync(client.extract(PDF, { signal: gone.signal }), { message: 'No time' });
  // The delay would be at least 15 seconds.
  t.true(performance.now() - startedAt < 10_000);
  t.is(service.received.length, 1);
});

test('AbortSignal.timeout limits a call with all its attempts', async (t) => {
  await using service = await faultServer(answer(503, ''));
  const client = clientOf(service, { retries: 100, retryDelay: '20 ms' });
  const call = client.extract(PDF, { signal: AbortSignal.timeout(100) });
  await t.throwsAsync(call, { instanceOf: DOMException, name: 'TimeoutError' });
});

test('a signal shared by many calls keeps no listener of a completed call', async (t) => {
  await using service = await faultServer(json(TREE));
  const gone = new AbortController();
  for (let calls = 0; calls < 3; calls += 1) await clientOf(service).extract(PDF, { signal: gone.signal });
  t.deepEqual(getEventListeners(gone.signal, 'abort'), []);
});

test('an image stream that is aborted, or destroyed unread, closes its connection', async (t) => {
  let closed!: PromiseWithResolvers<void>;
  await using service = await faultServer((request, response) => {
    request.resume();
    response.on('close', closed.resolve);
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': String(PNG.byteLength) });
    response.write(PNG.subarray(0, 20));
  });
  closed = Promise.withResolvers();
  const gone = new AbortController();
  const image = await clientOf(service).renderStream(PDF, { signal: gone.signal });
  image.stream.once('data', () => gone.abort());
  await t.throwsAsync(buffer(image.stream), { name: 'AbortError' });
  await closed.promise;

  closed = Promise.withResolvers();
  (await clientOf(service, { timeout: '10 min' }).renderStream(PDF)).stream.destroy();
  await closed.promise;
});
