import type { ConvertOptions } from 'koa-gatehouse/html-pdf';

import { browserTest, converter } from './browser-test.ts';
import type { Observed } from './browser-test.ts';
import { pdfText } from './poppler.ts';

const inBrowser = browserTest();

/** A page whose last word is at the right end of its content. */
const wide = (width: string, rest = ''): string =>
  `<title>T</title><style>body { margin: 0 }</style>${rest}
  <div style="width: ${width}; display: flex; justify-content: space-between"><span>Left</span><span>Right</span></div>`;

const cuts = ({ events }: Observed): object[] => events.filter(({ type }) => type === 'cut');

/** Of A4: 793.7 pixels, and 718.1 within the default margins. Chromium prints half as much again. */
const PRINTED = 1077;

inBrowser('a document that is wider than the paper is cut, and onEvent is called', async (t) => {
  await using pdf = converter();
  for (const [width, text, cut] of [
    ['700px', 'Left Right', []],
    ['1070px', 'Left Right', []],
    ['3000px', 'Left', [{ type: 'cut', width: 3000, printed: PRINTED }]],
  ] as const) {
    pdf.events.length = 0;
    t.is(await pdfText(await pdf.convert(wide(width))), text, width);
    t.deepEqual(cuts(pdf), cut, width);
  }
});

inBrowser("scale: 'fit' prints all of it, on each paper and with each margin", async (t) => {
  await using pdf = converter();
  const all: readonly (readonly [html: string, options: ConvertOptions])[] = [
    [wide('3000px'), {}],
    [wide('7000px'), {}],
    [wide('3000px'), { format: 'a5', landscape: true, margin: '3cm' }],
    [wide('3000px', '<style>@page { margin: 5cm }</style>'), {}],
    [wide('3000px', '<img name="documentElement">'), {}],
    [wide('700px'), {}],
  ];
  for (const [html, options] of all) {
    t.is(await pdfText(await pdf.convert(html, { ...options, scale: 'fit' })), 'Left Right', html);
  }
  t.deepEqual(cuts(pdf), []);
});

inBrowser('what no scale fits is cut, and onEvent is called', async (t) => {
  await using pdf = converter();
  await pdf.convert(wide('20000px'), { scale: 'fit' });
  // As wide as three pages, whatever the page.
  await pdf.convert(wide('300%'), { scale: 'fit' });
  t.deepEqual(
    cuts(pdf).map((cut) => Object.keys(cut)),
    [
      ['type', 'width', 'printed'],
      ['type', 'width', 'printed'],
    ],
  );
});

inBrowser("the document's own page margins count for its width", async (t) => {
  await using pdf = converter();
  // 1150 pixels are within one and a half times the paper, and not within that between the default margins.
  const own = '<style>@page { margin: 0 }</style>';
  t.is(await pdfText(await pdf.convert(wide('1150px', own))), 'Left Right');
  t.deepEqual(cuts(pdf), []);
  await pdf.convert(wide('1150px', own), { margin: '1cm' });
  t.deepEqual(cuts(pdf), [{ type: 'cut', width: 1150, printed: PRINTED }]);
});

inBrowser(
  'a document is laid out as wide as it is printed: media queries load what the print needs',
  async (t) => {
    const asked: string[] = [];
    await using pdf = converter({
      assets(path) {
        asked.push(path);
        return undefined;
      },
    });
    const style = `<style>@media (max-width: 720px) { p { background: url(narrow.png) } }
    @media (min-width: 721px) { p { background: url(wide.png) } }</style>`;
    await pdf.convert(`<title>T</title>${style}<p>x`);
    t.deepEqual(asked, ['narrow.png']);
  },
);
