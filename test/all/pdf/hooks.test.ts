import test from '../../harness/test.ts';

import { PDF, clientOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, json } from './fault-server.ts';
import type { PdfHooks, PdfProgress } from '../../../lib/pdf/options.ts';

test('hooks are called for each request, response and retry', async (t) => {
  await using service = await faultServer(answer(503, ''), (request) => request.socket.destroy(), json(TREE));
  const events: object[] = [];
  const hooks: PdfHooks = {
    onRequest: (event) => events.push({ request: event }),
    onResponse: ({ seconds, ...event }) => {
      t.true(seconds >= 0 && seconds < 60);
      events.push({ response: event });
    },
    onRetry: ({ error, delay, attempt }) => {
      t.true(delay <= 0.002);
      events.push({ retry: { code: error.code, attempts: error.attempts, attempt } });
    },
  };
  await clientOf(service, { hooks }).extract(PDF);
  const url = `${service.origin}/extract`;
  t.deepEqual(events, [
    { request: { method: 'POST', url, attempt: 1 } },
    { response: { status: 503, attempt: 1 } },
    { retry: { code: 'ERR_PDF_HTTP', attempts: 1, attempt: 1 } },
    { request: { method: 'POST', url, attempt: 2 } },
    { retry: { code: 'ERR_PDF_CONNECTION', attempts: 2, attempt: 2 } },
    { request: { method: 'POST', url, attempt: 3 } },
    { response: { status: 200, attempt: 3 } },
  ]);
});

test('progress increases up to the total, and starts again with each attempt', async (t) => {
  const length = String(PNG.byteLength);
  const picture = answer(200, PNG, { 'content-type': 'image/png', 'content-length': length });
  await using service = await faultServer(answer(503, ''), picture);
  const up: PdfProgress[] = [];
  const down: PdfProgress[] = [];
  await clientOf(service).render(new Uint8Array(200_000), {
    onUploadProgress: (progress) => up.push(progress),
    onDownloadProgress: (progress) => down.push(progress),
  });
  const total = Number(service.received[0]!.headers['content-length']);
  for (const attempt of [1, 2]) {
    const steps = up.filter((progress) => progress.attempt === attempt);
    t.true(steps.length > 3);
    t.true(steps.every((step) => step.total === total));
    t.deepEqual(
      steps,
      steps.toSorted((a, b) => a.transferred - b.transferred),
    );
    t.is(steps.at(-1)!.transferred, total);
  }
  t.deepEqual(down, [{ transferred: PNG.byteLength, total: PNG.byteLength, attempt: 2 }]);
});

test('for a stream of unknown size onUploadProgress gets no total', async (t) => {
  await using service = await faultServer(json(TREE));
  await clientOf(service).extract(new Blob([PDF]).stream(), {
    onUploadProgress: ({ total }) => t.is(total, undefined),
  });
});

const failure = new Error('Mine');
function fail(): never {
  throw failure;
}

for (const [name, requests] of [
  ['onRequest', 0],
  ['onResponse', 1],
  ['onRetry', 1],
  // It depends on when the connection is made.
  ['onUploadProgress', undefined],
  ['onDownloadProgress', 2],
] as const) {
  test(`an error of ${name} ends the call and is its rejection`, async (t) => {
    await using service = await faultServer(answer(503, ''), json(TREE));
    const given = { [name]: fail };
    const [hooks, options] = name.endsWith('Progress') ? [{}, given] : [given, {}];
    t.is(await t.throwsAsync(clientOf(service, { hooks }).extract(PDF, options)), failure);
    if (requests === undefined) t.true(service.received.length <= 1);
    else t.is(service.received.length, requests);
  });
}
