import { parentPort } from 'node:worker_threads';

import { extract } from './extract.ts';
import type { Job, Outcome } from './job-pool.ts';
import { openPdf } from './open-pdf.ts';
import { render } from './render.ts';
import { ServiceError } from './service-error.ts';

parentPort?.on('message', (job: Job) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  void attempt(job).then((outcome) => parentPort?.postMessage(outcome));
});

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage('ready');

async function attempt(job: Job): Promise<Outcome> {
  try {
    return { result: await work(job) };
  } catch (error) {
    const { status, code, message } = error instanceof ServiceError ? error : damaged(error);
    return { fault: { status, code, message } };
  }
}

async function work(job: Job): Promise<string | Uint8Array> {
  const pdf = await openPdf(job.path);
  try {
    return job.task === 'extract' ? await extract(pdf, job.filename) : await render(pdf, job.picture);
  } finally {
    await pdf.loadingTask.destroy();
  }
}

/** pdf.js throws many different errors for damaged pages. */
function damaged(error: unknown): ServiceError {
  console.error(`A PDF could not be read: ${String(error)}`);
  return new ServiceError(422, 'pdf_invalid', 'The PDF has a page that cannot be read.');
}
