import { once } from 'node:events';
import { PassThrough } from 'node:stream';

import test from '../../harness/test.ts';
import { PdfClient } from 'koa-gatehouse/pdf';

import { JobPool } from '../../../examples/pdf-service/job-pool.ts';
import { startPdfService } from '../../../examples/pdf-service/service.ts';
import { DEFAULTS } from '../../../examples/pdf-service/settings.ts';
import type { Settings } from '../../../examples/pdf-service/settings.ts';
import { send } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';
import { errorOf } from './clients.ts';
import { makePdf } from './make-pdf.ts';

const started = shared(async () => {
  const pdf = await makePdf();
  return { pdf };
});

async function start(
  settings: Partial<Settings>,
): Promise<AsyncDisposable & { url: string; client: PdfClient }> {
  const service = await startPdfService({ port: 0, workers: 1, ...settings });
  const client = new PdfClient({ baseUrl: service.url, retries: 0 });
  return { url: service.url, client, [Symbol.asyncDispose]: () => service.stop() };
}

function codeOf(error: { response: { body: string } | undefined }): string {
  return JSON.parse(error.response?.body ?? '').error.code;
}

test('with an API key, only requests with it are served, except /health', async (t) => {
  const { pdf } = await started();
  await using service = await start({ apiKey: 'sesame' });
  const error = await errorOf(service.client.extract(pdf));
  t.is(error.response?.status, 401);
  t.is(error.response?.headers['www-authenticate'], 'Bearer');
  t.is(codeOf(error), 'api_key_invalid');
  const wrong = new PdfClient({ baseUrl: service.url, apiKey: 'Sesame' });
  t.is((await errorOf(wrong.extract(pdf))).response?.status, 401);
  const right = new PdfClient({ baseUrl: service.url, apiKey: 'sesame' });
  t.is((await right.extract(pdf))['number of pages'], 2);
  t.is((await send(`${service.url}/health`)).status, 200);
});

test('a PDF that is too large is refused, with and without Content-Length', async (t) => {
  const { pdf } = await started();
  await using service = await start({ maxBytes: pdf.byteLength });
  t.is((await service.client.extract(pdf))['number of pages'], 2);
  for (const input of [
    Buffer.alloc(pdf.byteLength + 1),
    new Blob([new Uint8Array(5_000_000)]).stream(),
    new Uint8Array(30_000_000),
  ]) {
    const error = await errorOf(service.client.extract(input));
    t.is(error.response?.status, 413);
    t.is(codeOf(error), 'too_large');
  }
  t.is((await service.client.extract(pdf))['number of pages'], 2);
});

test('a job that takes too long is ended, and the next one runs', async (t) => {
  const { pdf } = await started();
  await using service = await start({ jobTimeout: 1 });
  const error = await errorOf(service.client.extract(pdf));
  t.is(error.response?.status, 422);
  t.is(codeOf(error), 'too_complex');
  t.like((await send(`${service.url}/health`)).body, { running: 0, waiting: 0 });
  t.is(codeOf(await errorOf(service.client.extract(pdf))), 'too_complex');
});

test('more jobs than the queue holds get 503 with Retry-After, and succeed when retried', async (t) => {
  const { pdf } = await started();
  await using service = await start({ queue: 1 });
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => service.client.extract(pdf)));
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  t.true(refused.length >= 1 && refused.length <= 4, String(refused.length));
  for (const error of refused) t.like(error, { code: 'ERR_PDF_HTTP', response: { status: 503 } });
  t.like(refused[0], { response: { headers: { 'retry-after': '1' } } });

  const retrying = new PdfClient({ baseUrl: service.url, retries: 5 });
  const trees = await Promise.all(Array.from({ length: 4 }, () => retrying.extract(pdf)));
  t.is(trees.length, 4);
});

test('/health answers while a job runs', async (t) => {
  const long = await makePdf(Array.from({ length: 60 }, (_, index) => `Chapter ${index}`));
  await using service = await start({});
  const work = service.client.extract(long);
  const ended = new AbortController();
  void work.finally(() => ended.abort());
  let count = 0;
  for (; !ended.signal.aborted; count += 1) t.is((await send(`${service.url}/health`)).status, 200);
  t.true(count > 3, String(count));
  t.is((await work)['number of pages'], 60);
});

test('a request closed while waiting runs no job', async (t) => {
  const jobs = new JobPool({ ...DEFAULTS, workers: 1 });
  const closed = new PassThrough().destroy();
  await once(closed, 'close');
  const job = { task: 'extract', path: '/not/there', filename: null } as const;
  await t.throwsAsync(jobs.run(job, closed), { message: 'The client closed the connection.' });
  t.deepEqual(jobs.load, { running: 0, waiting: 0 });
});
