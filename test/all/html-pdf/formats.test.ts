import test from '../../harness/test.ts';
import type { ConvertOptions, PaperFormat } from 'koa-gatehouse/html-pdf';
import { ConfigError } from 'koa-gatehouse';

import { browserTest, converter } from './browser-test.ts';
import { pdfInfo, pdfText, poppler } from './poppler.ts';

const inBrowser = browserTest();
const pdf = inBrowser === test ? converter() : undefined!;
/** Loads documents by a navigation. */
const pdfWithAssets = inBrowser === test ? converter({ assets: () => undefined }) : undefined!;
test.after.always(async () => {
  await pdf?.close();
  await pdfWithAssets?.close();
});

/** In points, upright (ISO 216, ANSI/ASME Y14.1). */
const SIZES: Readonly<Record<PaperFormat, readonly [number, number]>> = {
  a0: [2383.94, 3370.39],
  a1: [1683.78, 2383.94],
  a2: [1190.55, 1683.78],
  a3: [841.89, 1190.55],
  a4: [595.28, 841.89],
  a5: [419.53, 595.28],
  a6: [297.64, 419.53],
  letter: [612, 792],
  legal: [612, 1008],
  tabloid: [792, 1224],
  ledger: [1224, 792],
};

/** Whether a page has a size; Chromium rounds to CSS pixels. */
function isSize(
  [found = [0, 0]]: readonly (readonly number[])[],
  [width, height]: readonly number[],
): boolean {
  return Math.abs(found[0]! - width!) <= 1.5 && Math.abs(found[1]! - height!) <= 1.5;
}

inBrowser('each format, upright and landscape, whatever the document’s own page is', async (t) => {
  const html = `<title>Report</title><style>@page { size: 5in 3in }</style><h1>Paper</h1>
    <p style="break-before: page">The end.`;
  for (const [format, size] of Object.entries(SIZES) as [PaperFormat, readonly number[]][]) {
    const bytes = await pdf.convert(html, { format });
    const { pages, sizes, title } = await pdfInfo(bytes);
    t.is(pages, 2);
    t.is(title, 'Report');
    for (const found of sizes) t.true(isSize([found], size), `${format}: ${found.join(' x ')}`);
    t.is(await pdfText(bytes), 'Paper The end.');
  }
  for (const [format, width, height] of [
    ['A5', 595.28, 419.53],
    // It is horizontal anyway.
    ['LEDGER', 1224, 792],
  ] as const) {
    const { sizes } = await pdfInfo(await pdf.convert(html, { format, landscape: true }));
    t.true(isSize(sizes, [width, height]), format);
  }
});

const RULES = [
  '<style>@page { size: Letter landscape !important }</style>',
  '<style>@page :first { size: A3 landscape !important }</style>',
  '<style>@page wide { size: A3 landscape !important } h1 { page: wide }</style>',
  '<style>@layer a { @page :first { size: A3 landscape !important } }</style>',
  '<style media="print">@media (min-width: 1px) { @page { size: 4in 2in } }</style>',
  '<style>@page { page-orientation: rotate-left }</style>',
  '<link rel="stylesheet" href="data:text/css,@page{size:4in 2in}">',
  '<style>@import "data:text/css,@page{size:4in 2in}";</style>',
  // Names of what a script reads.
  '<img name="styleSheets"><img id="CSSPageRule"><style>@page { size: 4in 2in }</style>',
  // It is never closed.
  '<h1>Text</h1><style>@page { size: 4in 2in !important;',
  '<noscript><style>@page { size: 4in 2in }</style></noscript>',
];

inBrowser('the format wins over every page rule', async (t) => {
  for (const html of RULES) {
    for (const converted of [pdf, pdfWithAssets]) {
      const bytes = await converted.convert(`${html}<h1>Text</h1>`);
      const { sizes } = await pdfInfo(bytes);
      t.is(sizes.length, 1, html);
      t.true(isSize(sizes, SIZES.a4), html);
      t.is(await pdfText(bytes), 'Text', html);
      t.notRegex(await poppler('pdfinfo', bytes), /Page rot: +[1-9]/, html);
    }
  }
});

/** The beginnings of rules; in SVG, a style sheet may contain character references and other elements. */
const SPELLINGS = {
  div: ['@PAGE', '@\\70 age', '@p\\61ge', '@\\000050age', '@\0page', '@p\0age', '@\ufeffpage', '@\ud800page'],
  svg: [
    '&commat;page',
    '&#64;page',
    '&#00064page',
    '&#x40;page',
    '&#X0040page',
    '@&#112;age',
    '@p&#x61;ge',
    '@<!-- -->page',
    '@<g></g>page',
    '@p<g></g>age',
    '@<![CDATA[page]]>',
    '<![CDATA[@]]>page',
  ],
} as const;

inBrowser('the format wins over a page rule in each spelling', async (t) => {
  for (const [parent, spellings] of Object.entries(SPELLINGS)) {
    for (const spelling of spellings) {
      const sheet = `<style>${spelling} { size: 4in 2in !important }</style>`;
      const bytes = await pdf.convert(`<${parent}>${sheet}</${parent}><h1>Text</h1>`);
      t.true(isSize((await pdfInfo(bytes)).sizes, SIZES.a4), spelling);
    }
  }
});

/** Where the first word begins, in points. */
async function start(html: string, options: ConvertOptions): Promise<[x: number, y: number]> {
  const box = await poppler('pdftotext', await pdf.convert(html, options), '-bbox');
  const [, x, y] = /<word xMin="([-\d.]+)" yMin="([-\d.]+)"/.exec(box) ?? [];
  return [Math.round(Number(x)), Math.round(Number(y))];
}

inBrowser('a margin that is given wins over the document’s own; the others are the document’s', async (t) => {
  const html = '<body style="margin: 0; font: 10pt/1 sans-serif">Word';
  const own = `<style>@page { margin: 3in !important }</style>${html}`;
  const [x, y] = await start(html, { margin: '0px' });
  t.true(x <= 1 && y <= 2, `${x}, ${y}`);
  t.deepEqual(await start(html, { margin: { left: '2in', top: '1in' } }), [x + 144, y + 72]);
  t.deepEqual(await start(own, {}), [x + 216, y + 216]);
  t.deepEqual(await start(own, { margin: { left: '2in' } }), [x + 144, y + 216]);
});

inBrowser('an unknown format is an error that lists them all', async (t) => {
  for (const format of ['a7', 'A 4', '', 'constructor', 4, null])
    await t.throwsAsync(pdf.convert('', { format: format as PaperFormat }), {
      instanceOf: ConfigError,
      message: `convert({ format }): give one of ${Object.keys(SIZES).join(', ')}`,
    });
});
