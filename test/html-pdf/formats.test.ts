// Alone, first: it prints many documents.
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { ConfigError } from 'koa-gatehouse/html-pdf';
import type { HtmlPdfOptions, PaperFormat } from 'koa-gatehouse/html-pdf';

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

/** Chromium rounds to CSS pixels. */
function isSize(t: ExecutionContext, found: readonly number[], [width, height]: readonly number[]): void {
  t.true(
    Math.abs(found[0]! - width!) <= 1.5 && Math.abs(found[1]! - height!) <= 1.5,
    `${found.join(' x ')} pt instead of ${width} x ${height}`,
  );
}

for (const format of Object.keys(SIZES) as PaperFormat[]) {
  inBrowser(`${format}, upright and landscape, whatever the document's own page is`, async (t) => {
    const [width, height] = SIZES[format];
    const html = `<title>Report ${format}</title><style>@page { size: 5in 3in }</style><h1>Paper ${format}</h1>
      <p style="break-before: page">The end.`;
    const name = format.toUpperCase() as Uppercase<PaperFormat>;
    const upright = await pdf.convert(html, { format });
    const landscape = await pdf.convert(html, { format: name, landscape: true });
    for (const [bytes, size] of [
      [upright, [width, height]],
      [landscape, [Math.max(width, height), Math.min(width, height)]],
    ] as const) {
      const { pages, sizes, title } = await pdfInfo(bytes);
      t.is(pages, 2);
      t.is(title, `Report ${format}`);
      for (const found of sizes) isSize(t, found, size);
      t.is(await pdfText(bytes), `Paper ${format} The end.`);
    }
  });
}

const RULES = {
  important: '<style>@page { size: Letter landscape !important }</style>',
  'of the first page': '<style>@page :first { size: A3 landscape !important }</style>',
  'of a named page': '<style>@page wide { size: A3 landscape !important } h1 { page: wide }</style>',
  'of a layer': '<style>@layer a { @page :first { size: A3 landscape !important } }</style>',
  'of a media query': '<style media="print">@media (min-width: 1px) { @page { size: 4in 2in } }</style>',
  'that rotates': '<style>@page { page-orientation: rotate-left }</style>',
  'of a linked style sheet': '<link rel="stylesheet" href="data:text/css,@page{size:4in 2in}">',
  'of an imported style sheet': '<style>@import "data:text/css,@page{size:4in 2in}";</style>',
  'behind names of the script':
    '<img name="styleSheets"><img id="CSSPageRule"><style>@page { size: 4in 2in }</style>',
  'in a style that is never closed': '<h1>Text</h1><style>@page { size: 4in 2in !important;',
  'for browsers without scripts': '<noscript><style>@page { size: 4in 2in }</style></noscript>',
} as const;

for (const [what, html] of Object.entries(RULES)) {
  inBrowser(`the format wins over a page rule ${what}`, async (t) => {
    for (const converted of [pdf, pdfWithAssets]) {
      const bytes = await converted.convert(`${html}<h1>Text</h1>`);
      const { sizes } = await pdfInfo(bytes);
      t.is(sizes.length, 1);
      isSize(t, sizes[0]!, SIZES.a4);
      t.is(await pdfText(bytes), 'Text');
      t.notRegex(await poppler('pdfinfo', bytes), /Page rot: +[1-9]/);
    }
  });
}

/** The beginnings of rules; in SVG, a style sheet may contain character references and other elements. */
const SPELLINGS: Readonly<Record<'div' | 'svg', readonly string[]>> = {
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
};

for (const [parent, spellings] of Object.entries(SPELLINGS)) {
  inBrowser(`the format wins over a page rule in each spelling, in ${parent}`, async (t) => {
    for (const spelling of spellings) {
      const sheet = `<style>${spelling} { size: 4in 2in !important }</style>`;
      const bytes = await pdf.convert(`<${parent}>${sheet}</${parent}><h1>Text</h1>`);
      isSize(t, (await pdfInfo(bytes)).sizes[0]!, SIZES.a4);
    }
  });
}

/** Where the first word begins, in points. */
async function start(html: string, options: HtmlPdfOptions): Promise<[x: number, y: number]> {
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
  for (const format of ['a7', 'A 4', '', 'constructor', 4, null]) {
    const error = await t.throwsAsync(pdf.convert('', { format: format as PaperFormat }), {
      instanceOf: ConfigError,
    });
    t.is(
      error?.message,
      'convert({ format }): give one of a0, a1, a2, a3, a4, a5, a6, letter, legal, tabloid, ledger',
    );
  }
});
