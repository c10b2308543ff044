// Alone: it measures the processor time of the process.
import { HtmlPdfError } from 'koa-gatehouse/html-pdf';
import type { HtmlToPdfOptions } from 'koa-gatehouse/html-pdf';

import { PNG } from '../pdf/fault-server.ts';
import { browserTest, converter } from './browser-test.ts';
import type { Observed } from './browser-test.ts';
import { pdfInfo, pdfText } from './poppler.ts';

const inBrowser = browserTest();

const PIXEL = `data:image/png;base64,${PNG.toString('base64')}`;
const assets: NonNullable<HtmlToPdfOptions['assets']> = (path) =>
  path === 'logo.png' ? { data: PNG, type: 'image/png' } : undefined;

const INCOMPLETE = `<title>Enrolment</title><link rel="stylesheet" href="print.css">
  <img src="logo.png"><img src="crest%20of%20hill.png?secret=1">
  <img src="https://ann:secret@cdn.example/seal.png?secret=2"><p style="background: url(paper.png)">Enrolment`;

function missingFiles({ events }: Observed): readonly (readonly string[])[] {
  return events.flatMap((event) => (event.type === 'missing' ? [event.files.toSorted()] : []));
}

inBrowser('files that a document names and does not get are told, without what may be secret', async (t) => {
  await using pdf = converter({ assets });
  t.is(await pdfText(await pdf.convert(INCOMPLETE)), 'Enrolment');
  // Of a document that names any number of files, twenty are told.
  const many = Array.from({ length: 200 }, (_, number) => `<img src="${number}.png">`);
  await pdf.convert(`<title>T</title>${many.join('')}`);
  const [files, ofMany] = missingFiles(pdf);
  t.deepEqual(files, ['crest of hill.png', 'https://cdn.example/seal.png', 'paper.png', 'print.css']);
  t.is(ofMany?.length, 20);

  const html = `<title>T</title><p>Outer<iframe srcdoc="<p>Inner<img src='https://cdn.example/seal.png'>"></iframe>`;
  t.deepEqual((await pdfText(await pdf.convert(html))).split(/\s+/).toSorted(), ['Inner', 'Outer']);
  t.deepEqual(missingFiles(pdf)[2], ['https://cdn.example/seal.png']);

  // Without assets, each relative image is missing.
  await using without = converter();
  t.is(await pdfText(await without.convert('<title>One</title><img src="logo.png"><p>One')), 'One');
  t.deepEqual(missingFiles(without), [['logo.png']]);
});

inBrowser('nothing is missing of a document that has what it names', async (t) => {
  for (const options of [{ assets }, {}]) {
    await using pdf = converter({ ...options, onMissing: 'error' });
    const logo = 'assets' in options ? '<img src="logo.png">' : '';
    const html = `<title>Whole</title>${logo}<img src="${PIXEL}"><p style="background: url('${PIXEL}')">Whole <a href="#a">text</a>`;
    t.is(await pdfText(await pdf.convert(html)), 'Whole text');
    t.deepEqual(missingFiles(pdf), []);
  }
});

inBrowser("onMissing: 'error' refuses the document, and the next one is converted", async (t) => {
  await using pdf = converter({ assets, onMissing: 'error' });
  for (let round = 0; round < 2; round += 1) {
    const error = await t.throwsAsync(pdf.convert('<title>T</title><img src="crest.png">'), {
      instanceOf: HtmlPdfError,
      code: 'ERR_HTML_PDF_MISSING',
      message:
        'The document names files that it did not get: crest.png. Return them from assets, or put them into data: URLs.',
    });
    t.is(error.status, 422);
    t.is(await pdfText(await pdf.convert('<title>T</title><img src="logo.png"><p>Next')), 'Next');
  }
  t.deepEqual(missingFiles(pdf), [['crest.png'], ['crest.png']]);
  t.is(pdf.events.filter((event) => event.type === 'failed').length, 2);
});

inBrowser('a document without a title has that of its first heading', async (t) => {
  for (const options of [{ assets }, {}]) {
    await using pdf = converter(options);
    for (const [html, title] of [
      ['<p>Text<h2> Marks &amp; <b>more</b> </h2><h1>Second</h1>', 'Marks & more'],
      ['<title> </title><h1>Marks</h1>', 'Marks'],
      ['<p>Text', 'Document'],
      ['<svg><title>A chart</title></svg><h1>Marks</h1>', 'Marks'],
      ['<title>Year</title><svg><title>A chart</title></svg><h1>Marks</h1>', 'Year'],
      ['<img name="title"><img name="querySelector"><h1>Marks</h1>', 'Marks'],
    ] as const)
      t.is((await pdfInfo(await pdf.convert(html))).title, title);
  }
});

inBrowser('a document of tags that do not end is converted in the time of another of its size', async (t) => {
  await using pdf = converter({ assets });
  // The processor's time, which does not depend on what else the machine does: a minute if the search begins again at each of them.
  const before = process.cpuUsage();
  await pdf.convert(`<p>Text</p>${'<title'.repeat(150_000)}`);
  t.true(process.cpuUsage(before).user < 15_000_000);
});
