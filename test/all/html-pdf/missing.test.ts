import { HtmlToPdfError } from 'koa-gatehouse/html-pdf';
import type { ConvertOptions } from 'koa-gatehouse/html-pdf';

import { PNG } from '../pdf/fault-server.ts';
import { browserTest, converter } from './browser-test.ts';
import type { Observed } from './browser-test.ts';
import { pdfInfo, pdfText } from './poppler.ts';
import type { HtmlToPdfOptions } from '../../../lib/html-pdf/options.ts';

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
      instanceOf: HtmlToPdfError,
      code: 'ERR_HTML_TO_PDF_MISSING',
      message:
        'The document names files that it did not get: crest.png. Return them from assets, or put them into data: URLs.',
    });
    t.is(error.status, 422);
    t.is(await pdfText(await pdf.convert('<title>T</title><img src="logo.png"><p>Next')), 'Next');
  }
  t.deepEqual(missingFiles(pdf), [['crest.png'], ['crest.png']]);
  t.is(pdf.events.filter((event) => event.type === 'failed').length, 2);
});

const NAMED: readonly (readonly [html: string, file: string, options?: ConvertOptions])[] = [
  ['<p style="background: url(a.png)">x', 'a.png'],
  ['<style>@import "x.css";</style>x', 'x.css'],
  ['<style>@media print { p { background: url(a.png) } }</style><p>x', 'a.png'],
  [
    '<style>@media print { p { background: url(https://x.example/a.png?b) } }</style><p>x',
    'https://x.example/a.png',
  ],
  ['<style>p { background: image-set("a.png" 1x) }</style><p>x', 'a.png'],
  [String.raw`<p style="background: \75rl(a.png)">x`, 'a.png'],
  ['<p style="background: url&lpar;a.png)">x', 'a.png'],
  ['<style>@font-face { font-family: F; src: url(f.woff) } p { font-family: F }</style><p>x', 'f.woff'],
  ['<iframe src="x.html?secret=1"></iframe>', 'x.html'],
  ['<iframe src="https://ann:secret@x.example/y?secret=1"></iframe>', 'https://x.example/y'],
  ['<frameset><frame src="x.html"></frameset>', 'x.html'],
  ['<object data="x.pdf"></object>', 'an object'],
  ['<embed src="x.pdf">', 'an object'],
  ['<video src="x.mp4"></video>', 'x.mp4'],
  ['<video poster="p.png"></video>', 'p.png'],
  ['<body background="b.png">x', 'b.png'],
  ['<table><tr><td background="b.png">x</table>', 'b.png'],
  ['<svg><use href="sprite.svg#a"/></svg>', 'sprite.svg'],
  ['<svg><image href="a.png"/></svg>', 'a.png'],
  ['x', 'crest.png', { header: '<img src="crest.png">' }],
  // No asset either: the header and the footer load nothing.
  ['x', 'logo.png', { footer: '<img src="logo.png">' }],
  ['x', 'https://x.example/l.png', { footer: '<img src="https://x.example/l.png">' }],
];

inBrowser('a file is missing whatever names it', async (t) => {
  await using pdf = converter({ assets });
  for (const [html, file, options] of NAMED) {
    await pdf.convert(html, options);
    t.deepEqual(missingFiles(pdf), [[file]], html);
    pdf.events.length = 0;
  }
  // The next document gets what the header of the last one did not.
  await pdf.convert('<img src="logo.png">');
  t.deepEqual(missingFiles(pdf), []);
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
      ['<!-- <title>Old</title> --><h1>Marks</h1>', 'Marks'],
      ['<script>var title = "<title>x</title>";</script><h1>Marks</h1>', 'Marks'],
      ['<style>/* <title>x */</style><h1>Marks</h1>', 'Marks'],
      ['<h1>Marks</h1><textarea><title>x</title></textarea>', 'Marks'],
      ['<template><title>x</title></template><h1>Marks</h1>', 'Marks'],
      ['<h1 data-x="<title>x">Marks</h1>', 'Marks'],
      ['<title>&nbsp;</title><h1>Marks</h1>', 'Marks'],
      ['<title></title><title>Second</title><h1>Marks</h1>', 'Marks'],
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
