import { readdirSync, readFileSync } from 'node:fs';

import { createHtmlToPdf, HtmlToPdfError } from 'koa-gatehouse/html-pdf';
import type { HtmlToPdf } from 'koa-gatehouse/html-pdf';

import { until } from '../../harness/until.ts';
import { browserTest, converter } from './browser-test.ts';
import { pdfText } from './poppler.ts';

// One browser after the other, because some tests look for its processes.
const inBrowser = browserTest().serial;

/** A document that is printed when `release()` is called. */
function held() {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<undefined>();
  return {
    assets: async () => {
      asked.resolve();
      return released.promise;
    },
    asked: asked.promise,
    release: () => released.resolve(undefined),
    html: '<img src="held.png"><p>Held',
  };
}

/** The error that a conversion rejects with. */
async function errorOf(conversion: Promise<unknown>): Promise<HtmlToPdfError> {
  const error = await conversion.then(
    () => new Error('converted'),
    (reason: unknown) => reason,
  );
  if (error instanceof HtmlToPdfError) return error;
  throw error;
}

async function codeOf(conversion: Promise<unknown>): Promise<string> {
  return errorOf(conversion).then(
    ({ code }) => code,
    ({ message }: Error) => message,
  );
}

/** The processes of Chromium that this process has started, by a word of their command lines. */
function chromium(word: string): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    parents.set(Number(name), Number(/^PPid:\t(\d+)$/m.exec(read(`/proc/${name}/status`))?.[1]));
  }
  const isOurs = (id: number | undefined): boolean =>
    id !== undefined && (id === process.pid || isOurs(parents.get(id)));
  return [...parents.keys()].filter(
    (id) => id !== process.pid && isOurs(id) && read(`/proc/${id}/cmdline`).includes(word),
  );
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function works(pdf: HtmlToPdf): Promise<boolean> {
  return (await pdfText(await pdf.convert('<p>Works'))) === 'Works';
}

inBrowser(
  'when the browser is killed, the running conversions fail, and the next one starts another',
  async (t) => {
    const one = held();
    await using pdf = converter({ assets: one.assets });
    const running = [pdf.convert(one.html), pdf.convert(one.html)];
    const waiting = pdf.convert('<p>Waits');
    await one.asked;
    const ended = pdf.next('browser_ended');
    for (const id of chromium('--remote-debugging-pipe')) process.kill(id, 'SIGKILL');
    for (const conversion of running)
      t.like(await errorOf(conversion), {
        code: 'ERR_HTML_TO_PDF_CRASHED',
        message: 'The browser ended during the conversion.',
        status: 500,
      });
    t.like(await ended, { reason: 'crashed', documents: 2 });
    t.is(await pdfText(await waiting), 'Waits');
    t.is(pdf.events.filter(({ type }) => type === 'browser_started').length, 2);
  },
);

inBrowser('when the process of a page ends, its conversion fails and the browser goes on', async (t) => {
  const one = held();
  await using pdf = converter({ assets: one.assets, concurrency: 1 });
  await pdf.convert('<p>Before');
  const running = pdf.convert(one.html);
  await one.asked;
  for (const id of chromium('--type=renderer')) process.kill(id, 'SIGKILL');
  t.is(await codeOf(running), 'ERR_HTML_TO_PDF_CRASHED');
  // The page that was held ready for the next one was killed as well, and may be taken before Chromium says so.
  await until(async () => (await codeOf(pdf.convert('<p>Next'))) === 'converted');
  t.true(await works(pdf));
  t.is(pdf.events.filter(({ type }) => type === 'browser_started').length, 1);
});

inBrowser('a document that grows beyond maxMemory is ended with its browser', async (t) => {
  await using pdf = converter({ maxMemory: 200 * 2 ** 20 });
  const ended = pdf.next('browser_ended');
  const html = `<style>p { columns: 2 }</style>${'<p><b>a</b> <i>b</i>'.repeat(200_000)}`;
  t.like(await errorOf(pdf.convert(html)), {
    code: 'ERR_HTML_TO_PDF_MEMORY',
    message:
      'The browser used more than 209715200 bytes and was ended. Make the document smaller, or raise maxMemory.',
  });
  t.like(await ended, { reason: 'memory' });
  t.true(await works(pdf));
});

inBrowser(
  'the queue is bounded, a waiting conversion can be aborted, and a running one as well',
  async (t) => {
    const one = held();
    await using pdf = converter({ assets: one.assets, concurrency: 1, maxQueue: 2 });
    const abortRunning = new AbortController();
    const running = pdf.convert(one.html, { signal: abortRunning.signal });
    const abortWaiting = new AbortController();
    const aborted = pdf.convert('<p>Aborted', { signal: abortWaiting.signal });
    const next = pdf.convert('<p>Next');
    t.like(await errorOf(pdf.convert('<p>Full')), {
      code: 'ERR_HTML_TO_PDF_FULL',
      message: '2 conversions wait already. Try again later, or raise maxQueue or concurrency.',
      status: 503,
    });
    abortWaiting.abort(new Error('no longer needed'));
    await t.throwsAsync(aborted, { message: 'no longer needed' });
    await one.asked;
    abortRunning.abort(new Error('the caller left'));
    await t.throwsAsync(running, { message: 'the caller left' });
    t.is(await pdfText(await next), 'Next');
    await t.throwsAsync(pdf.convert('', { signal: AbortSignal.abort(new Error('before')) }), {
      message: 'before',
    });
    t.like(
      pdf.events.find(({ type }) => type === 'failed'),
      { code: 'aborted' },
    );
  },
);

inBrowser('a conversion that takes too long ends, and its turn goes to the next one', async (t) => {
  const one = held();
  await using pdf = converter({ assets: one.assets, concurrency: 1 });
  await pdf.convert('<p>Warm');
  const late = pdf.convert(one.html, { timeout: '700 ms' });
  const next = pdf.convert('<p>Next');
  t.like(await errorOf(late), {
    code: 'ERR_HTML_TO_PDF_TIMEOUT',
    message: 'The conversion took longer than 700 ms. Raise timeout, or make the document smaller.',
    status: 504,
  });
  t.is(await pdfText(await next), 'Next');
  t.is(pdf.events.filter(({ type }) => type === 'browser_started').length, 1);
});

inBrowser('a stream that is abandoned, or never read again, gives its turn to the next one', async (t) => {
  await using pdf = converter({ concurrency: 1 });
  const html = '<p>Page</p>'.repeat(2000);
  for await (const piece of pdf.stream(html)) {
    t.is(Buffer.from(piece).toString('latin1', 0, 5), '%PDF-');
    break;
  }
  t.true(await works(pdf));
  t.like(
    pdf.events.findLast(({ type }) => type === 'failed'),
    { code: 'aborted' },
  );
  const unread = pdf.stream(html, { timeout: '5 seconds' })[Symbol.asyncIterator]();
  await unread.next();
  t.true(await works(pdf));
  t.is(await codeOf(unread.next()), 'ERR_HTML_TO_PDF_TIMEOUT');
});

inBrowser('browsers are recycled, and no document of the old one is cut off', async (t) => {
  await using pdf = converter({ concurrency: 3, recycleAfter: 2 });
  const written = Array.from({ length: 7 }, (_, at) => `Document ${at}`);
  const texts = written.map(async (text) => pdfText(await pdf.convert(`<p>${text}`)));
  t.deepEqual(await Promise.all(texts), written);
  await pdf.close();
  const ended = pdf.events.filter((event) => event.type === 'browser_ended');
  t.deepEqual(ended.map(({ documents, reason }) => `${reason} ${documents}`).toSorted(), [
    'closed 1',
    'recycled 2',
    'recycled 2',
    'recycled 2',
  ]);
});

inBrowser(
  'close() waits for what runs, refuses the rest, leaves no process, and may be called twice',
  async (t) => {
    const one = held();
    const pdf = converter({ assets: one.assets, concurrency: 1 });
    const running = pdf.convert(one.html);
    const waiting = pdf.convert('<p>Waits');
    await one.asked;
    const closed = Promise.all([pdf.close(), pdf.close()]);
    t.like(await errorOf(waiting), {
      code: 'ERR_HTML_TO_PDF_CLOSED',
      message: 'The converter was closed. Create another one.',
    });
    one.release();
    t.is(await pdfText(await running), 'Held');
    await closed;
    t.is(await codeOf(pdf.convert('')), 'ERR_HTML_TO_PDF_CLOSED');
    t.deepEqual(chromium('chrom'), []);
    await pdf.close();
  },
);

inBrowser('close() during a start ends the browser that starts', async (t) => {
  const pdf = converter();
  const abort = new AbortController();
  const conversion = pdf.convert('', { signal: abort.signal });
  abort.abort(new Error('left'));
  await t.throwsAsync(conversion, { message: 'left' });
  await pdf.close();
  t.deepEqual(chromium('chrom'), []);
});

inBrowser('a browser that does not start is an error each time', async (t) => {
  await using pdf = converter({ executablePath: '/bin/false' });
  for (let call = 0; call < 2; call += 1) {
    const { code, message } = await errorOf(pdf.convert(''));
    t.is(code, 'ERR_HTML_TO_PDF_BROWSER');
    t.regex(message, /^Chromium did not start \(\/bin\/false\): .* Run it by hand with --headless/);
  }
});

inBrowser('what is no document is refused before a browser starts', async (t) => {
  await using pdf = converter({ maxHtmlBytes: 3 });
  t.like(await errorOf(pdf.convert('éé')), {
    code: 'ERR_HTML_TO_PDF_INPUT',
    message: 'The HTML is larger than 3 bytes, which maxHtmlBytes allows.',
    status: 400,
  });
  t.is(await codeOf(pdf.convert(undefined as unknown as string)), 'ERR_HTML_TO_PDF_INPUT');
  t.deepEqual(pdf.events, []);
});

inBrowser('an onEvent that throws costs no document', async (t) => {
  await using pdf = createHtmlToPdf({
    sandbox: process.getuid?.() !== 0,
    onEvent() {
      throw new Error('a metric failed');
    },
  });
  t.true(await works(pdf));
});
