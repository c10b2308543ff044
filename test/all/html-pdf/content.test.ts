import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import test from '../../harness/test.ts';

import { PNG } from '../pdf/fault-server.ts';
import { browserTest, converter } from './browser-test.ts';
import { pdfInfo, pdfText, poppler } from './poppler.ts';
import type { Asset } from '../../../lib/html-pdf/options.ts';

const FONTS = join(
  dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json')),
  'standard_fonts',
);

const PIXEL = `data:image/png;base64,${PNG.toString('base64')}`;

const inBrowser = browserTest().serial;
const requested: string[] = [];
const ASSETS: Readonly<Record<string, () => Asset | undefined | Promise<Asset>>> = {
  'logo.png': () => ({ data: PNG, type: 'image/png' }),
  'my logo/é.svg': async () => ({
    data: Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    ),
    type: 'image/svg+xml',
  }),
  'broken.png': () => {
    throw new Error('the disk is full');
  },
  'page.html': () => ({ data: Buffer.from('<h1>Inner</h1>'), type: 'text/html' as 'image/png' }),
  'no-asset.png': () => 'text' as unknown as Asset,
};
const pdf =
  inBrowser === test.serial
    ? converter({
        assets(path) {
          requested.push(path);
          return ASSETS[path]?.();
        },
      })
    : undefined!;
const pdfWithoutAssets = inBrowser === test.serial ? converter() : undefined!;
/** A document is loaded by a navigation when there are assets, and without one otherwise. */
const CONVERTERS = inBrowser === test.serial ? [pdf, pdfWithoutAssets] : [];
test.after.always(async () => {
  for (const each of CONVERTERS) await each.close();
});

/** The images of a PDF, without the header of the list. */
async function images(bytes: Uint8Array): Promise<number> {
  return (await poppler('pdfimages', bytes, '-list')).trim().split('\n').length - 2;
}

inBrowser(
  'header and footer have page numbers, the title and the date, and none of the document’s styles',
  async (t) => {
    for (const each of CONVERTERS) {
      const bytes = await each.convert(
        '<title>Marks & more</title><style>span { display: none }</style><p>One<p style="break-before: page">Two',
        {
          header: '<span class="title"></span> of <span class="date"></span>',
          footer: 'Page <span class="pageNumber"></span>/<span class="totalPages"></span>',
        },
      );
      const text = await pdfText(bytes);
      t.regex(text, /^Marks & more of \d+\/\d+\/\d+, .*? One Page 1\/2 Marks & more of .*? Two Page 2\/2$/);
    }
    // A header alone leaves the footer empty.
    t.is(await pdfText(await pdf.convert('<title>Unseen</title><p>Text', { header: 'Head' })), 'Head Text');
  },
);

inBrowser('the PDF is tagged, has title, language and outline, and its fonts are embedded', async (t) => {
  for (const each of CONVERTERS) {
    const bytes =
      await each.convert(`<!doctype html><html lang="de"><title>Schülerliste — 数</title><h1>Schüler</h1>
    <table><tr><th>Name</th></tr><tr><td>Ånna</td></tr></table><ul><li>eins</li></ul><img alt="Wappen" src="${PIXEL}">`);
    const { tagged, title } = await pdfInfo(bytes);
    t.is(tagged, 'yes');
    t.is(title, 'Schülerliste — 数');
    const structure = await poppler('pdfinfo', bytes, '-struct');
    for (const element of ['Document', 'H1', 'Table', 'TR', 'TH', 'TD', 'L', 'LI', 'Figure'])
      t.regex(structure, new RegExp(`^ *${element}\\b`, 'm'));
    const raw = Buffer.from(bytes).toString('latin1');
    t.regex(raw, /\/Lang \(de\)/);
    t.regex(raw, /\/Outlines /);
    const fonts = (await poppler('pdffonts', bytes)).trim().split('\n').slice(2);
    t.true(fonts.length > 0);
    for (const font of fonts) t.regex(font, / yes (yes|no ) (yes|no ) +\d+ +\d+$/);
  }
});

inBrowser('links within the document, and to other sites, remain', async (t) => {
  const html =
    '<a href="#end">Down</a> <a href="https://school.example/x">Out</a><p id="end" style="break-before: page">End';
  for (const each of CONVERTERS) {
    const raw = Buffer.from(await each.convert(html)).toString('latin1');
    t.regex(raw, /\/Dest /);
    t.deepEqual(raw.match(/\/URI \([^)]*\)/g), ['/URI (https://school.example/x)']);
  }
});

/** The height of the first word, in points. */
async function height(bytes: Uint8Array): Promise<number> {
  const box = await poppler('pdftotext', bytes, '-bbox');
  const [, top, bottom] = /yMin="([\d.]+)".* yMax="([\d.]+)"/.exec(box) ?? [];
  return Number(bottom) - Number(top);
}

inBrowser('the doctype decides on the mode of the document', async (t) => {
  // Only in quirks mode, a table does not inherit the colour and size of the text around it.
  const html = '<div style="font-size: 40pt"><table><tr><td>Cell</table></div>';
  for (const each of CONVERTERS) {
    t.true((await height(await each.convert(html))) < 20);
    t.true((await height(await each.convert(`<!doctype html>${html}`))) > 40);
  }
});

inBrowser('a font is loaded from a data URL', async (t) => {
  const font = readFileSync(join(FONTS, 'LiberationSans-Italic.ttf')).toString('base64');
  const html = `<style>@font-face { font-family: Own; src: url(data:font/ttf;base64,${font}) } p { font-family: Own }</style><p>Text`;
  for (const each of CONVERTERS) {
    t.regex(await poppler('pdffonts', await each.convert(html)), /LiberationSans-Italic/);
  }
});

inBrowser('images are loaded from data URLs and from assets', async (t) => {
  for (const each of CONVERTERS) {
    t.is(await images(await each.convert(`<img width="50" height="50" src="${PIXEL}">`)), 2);
  }
  requested.length = 0;
  t.is(await images(await pdf.convert('<img width="50" height="50" src="logo.png?v=1#x">')), 2);
  await pdf.convert('<img src="/my%20logo/%C3%A9.svg">');
  t.deepEqual([...new Set(requested)], ['logo.png', 'my logo/é.svg']);
});

inBrowser('the path of an asset is decoded once and has no steps upwards but encoded ones', async (t) => {
  requested.length = 0;
  await pdf.convert(`<base href="http://127.0.0.1/"><img src="../../up.png"><img src="a/../b.png"><img src="%2e%2e/c.png">
    <img src="..%2fd.png"><img src="%252e.png"><img src="%ff.png"><img src="http://document.invalid:81/port.png">
    <img src="/"><img src="//document.invalid.example/host.png"><img src="https://document.invalid/scheme.png"><img src="file:///etc/passwd">`);
  t.deepEqual([...new Set(requested)].toSorted(), ['', '%2e.png', '../d.png', 'b.png', 'c.png', 'up.png']);
});

inBrowser('an image that assets has not, or fails to return, is missing', async (t) => {
  for (const name of ['none.png', 'broken.png', 'page.html', 'no-asset.png']) {
    const text = await pdfText(await pdf.convert(`<img src="${name}" alt="No image"><p>Text`));
    t.is(text, 'No image Text', name);
  }
});

inBrowser(
  'what is for browsers without scripts, ill-formed Unicode, and no HTML at all are printed',
  async (t) => {
    for (const each of CONVERTERS) {
      t.is(await pdfText(await each.convert('<noscript>No script</noscript>')), 'No script');
      t.is(await pdfText(await each.convert('a\ud800b')), 'a\ufffdb');
      t.is((await pdfInfo(await each.convert(''))).pages, 1);
    }
  },
);
