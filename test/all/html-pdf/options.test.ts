import test from '../../harness/test.ts';
import { createHtmlToPdf } from 'koa-gatehouse/html-pdf';
import type { ConvertOptions } from 'koa-gatehouse/html-pdf';
import { ConfigError } from 'koa-gatehouse';
import type { HtmlToPdfOptions } from '../../../lib/html-pdf/options.ts';

// Any file: no browser is started here.
const executablePath = process.execPath;
const valid = { executablePath, sandbox: false };

const MISTAKES: readonly (readonly [options: object, message: string | RegExp])[] = [
  [
    { executablePath: '/nowhere/chromium' },
    'createHtmlToPdf({ executablePath }): there is no such file; give the path of Chromium or leave it out',
  ],
  [{ ...valid, concurrency: 0 }, 'createHtmlToPdf({ concurrency }): give a whole number of at least 1'],
  [{ ...valid, maxQueue: -1 }, 'createHtmlToPdf({ maxQueue }): give a whole number of at least 0'],
  [{ ...valid, recycleAfter: 1.5 }, 'createHtmlToPdf({ recycleAfter }): give a whole number of at least 1'],
  [{ ...valid, maxMemory: '2g' }, 'createHtmlToPdf({ maxMemory }): give a whole number of at least 1'],
  [
    { ...valid, maxHtmlBytes: Infinity },
    'createHtmlToPdf({ maxHtmlBytes }): give a whole number of at least 1',
  ],
  [
    { ...valid, timeout: 0 },
    "createHtmlToPdf({ timeout }): give seconds, or a number and a unit such as '30 seconds' or '500 ms'; more than 0, at most 1 hour",
  ],
  [{ ...valid, sandbox: 'no' }, 'createHtmlToPdf({ sandbox }): pass true or false'],
  [{ ...valid, assets: './public' }, 'createHtmlToPdf({ assets }): pass a function, or leave it out'],
  [{ ...valid, onEvent: [] }, 'createHtmlToPdf({ onEvent }): pass a function, or leave it out'],
  [
    { ...valid, maxConcurrency: 2 },
    /^createHtmlToPdf\(\{ maxConcurrency \}\): there is no such option; the options are executablePath, /,
  ],
];

test('the options of a converter are checked at once', (t) => {
  for (const [options, message] of MISTAKES)
    t.throws(() => createHtmlToPdf(options as HtmlToPdfOptions), { instanceOf: ConfigError, message });
});

const DOCUMENT_MISTAKES: readonly (readonly [options: object, message: string | RegExp])[] = [
  [{ landscape: 'yes' }, 'convert({ landscape }): pass true or false'],
  [
    { margin: 2 },
    "convert({ margin }): give a length such as '2cm' or '15mm'; the units are mm, cm, in, pt and px",
  ],
  [{ margin: { top: '1em' } }, /^convert\(\{ margin\.top \}\): give a length/],
  [{ margin: { top: '1cm; size: a3' } }, /^convert\(\{ margin\.top \}\): give a length/],
  [
    { margin: { start: '1cm' } },
    'convert({ margin.start }): there is no such option; the options are top, right, bottom, left',
  ],
  [{ header: 1 }, 'convert({ header }): give HTML as a string, or leave it out'],
  [{ footer: null }, 'convert({ footer }): give HTML as a string, or leave it out'],
  [{ timeout: 'soon' }, /^convert\(\{ timeout \}\): /],
  [{ signal: {} }, /^convert\(\{ signal \}\): pass an AbortSignal, such as AbortSignal\.timeout\(30_000\) /],
  [{ scale: 2 }, 'convert({ scale }): choose actual or fit'],
  [{ zoom: 2 }, /^convert\(\{ zoom \}\): there is no such option; the options are format, landscape, /],
];

test('the options of a document are checked before a browser starts', async (t) => {
  await using pdf = createHtmlToPdf(valid);
  for (const [options, message] of DOCUMENT_MISTAKES) {
    await t.throwsAsync(pdf.convert('', options as ConvertOptions), { instanceOf: ConfigError, message });
  }
});

if (process.getuid?.() === 0) {
  test('as root, the sandbox is an error that says what to do', (t) => {
    t.throws(() => createHtmlToPdf({ executablePath }), {
      instanceOf: ConfigError,
      message:
        "createHtmlToPdf({ sandbox }): Chromium's sandbox does not start as root; run as another user, or pass false where a container is the sandbox",
    });
  });
}
