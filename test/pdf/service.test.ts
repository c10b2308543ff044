// Alone: it sets `TMPDIR`.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { loadImage, createCanvas } from '@napi-rs/canvas';
import test from 'ava';
import { PdfClient, pdfText, walkPdf } from 'koa-gatehouse/pdf';

import { startPdfService } from '../../examples/pdf-service/service.ts';
import { send } from '../harness/requests.ts';
import { errorOf } from './clients.ts';
import { makePdf } from './make-pdf.ts';

// The temporary folder of this file only, so that remaining files are found.
const temporary = await mkdtemp(join(tmpdir(), 'gatehouse-service-'));
process.env['TMPDIR'] = temporary;

const service = await startPdfService({ port: 0, workers: 1 });
const client = new PdfClient({ baseUrl: service.url });
const pdf = await makePdf();
const locked = await makePdf(['Secret'], { userPassword: 'sesame' });
const strip = await makePdf(['Strip'], { size: [100, 14_000] });

test.after.always(async (t) => {
  await service.stop();
  t.deepEqual(await readdir(temporary), [], 'no temporary file remains');
  await rm(temporary, { recursive: true });
});

test('a PDF is extracted as a tree of headings and paragraphs', async (t) => {
  const tree = await client.extract({ data: pdf, filename: 'year.pdf' });
  t.like(tree, {
    'file name': 'year.pdf',
    'number of pages': 2,
    author: 'Ada Okafor',
    title: 'The school year',
  });
  t.is('children' in tree, false);
  t.deepEqual(
    tree.kids?.map((node) => [
      node.type,
      node['heading level'],
      node['page number'],
      node.content?.slice(0, 21),
    ]),
    [
      ['heading', 1, 1, 'Timetable'],
      ['paragraph', undefined, 1, 'Everybody is welcome,'],
      ['heading', 2, 1, 'About timetable'],
      ['paragraph', undefined, 1, 'It is as it was last '],
      ['heading', 1, 2, 'School meals'],
      ['paragraph', undefined, 2, 'Everybody is welcome,'],
      ['heading', 2, 2, 'About school meals'],
      ['paragraph', undefined, 2, 'It is as it was last '],
    ],
  );
  for (const { 'bounding box': box = [0, 0, 0, 0] } of tree.kids ?? []) {
    t.true(box[0] < box[2] && box[1] < box[3] && box[0] >= 71 && box[2] <= 596 && box[3] <= 842, String(box));
  }
  t.true(pdfText(tree).startsWith('Timetable\nEverybody is welcome, and lessons begin at eight. Everybody'));
  t.is([...walkPdf(tree)].length, 9);
});

test('a page is rendered as a PNG or JPEG of the requested width', async (t) => {
  const png = await client.render(pdf);
  t.is(png.contentType, 'image/png');
  t.like(await loadImage(Buffer.from(png.data)), { width: 1240, height: 1754 });

  const jpg = await client.render(pdf, { page: 2, format: 'jpg', quality: 60, width: 400 });
  t.is(jpg.contentType, 'image/jpeg');
  const image = await loadImage(Buffer.from(jpg.data));
  t.like(image, { width: 400, height: 566 });

  // The red box of the last page has its position.
  const canvas = createCanvas(400, 566).getContext('2d');
  canvas.drawImage(image, 0, 0);
  const colourAt = (x: number, y: number): readonly number[] => [
    ...canvas.getImageData((x / 595) * 400, (y / 842) * 566, 1, 1).data,
  ];
  const [red = 0, green = 255] = colourAt(172, 650);
  t.true(red > 180 && green < 30);
  t.true(colourAt(400, 650).every((part) => part > 245));

  const smaller = await client.render(pdf, { page: 2, format: 'jpg', quality: 5, width: 400 });
  t.true(smaller.data.byteLength < jpg.data.byteLength);
});

test('a page is returned as a stream', async (t) => {
  const { stream, contentType, contentLength } = await client.renderStream(pdf, { width: 300 });
  const bytes = await buffer(stream);
  t.is(contentType, 'image/png');
  t.is(contentLength, bytes.byteLength);
  t.is((await loadImage(bytes)).width, 300);
});

const WRONG: readonly [what: string, send: () => Promise<unknown>, status: number, code: string][] = [
  ['a file that is not a PDF', () => client.extract(Buffer.from('<html>')), 422, 'pdf_invalid'],
  ['half a PDF', () => client.render(pdf.subarray(0, 900)), 422, 'pdf_invalid'],
  ['a PDF with a password', () => client.extract(locked), 422, 'password_required'],
  ['a missing page', () => client.render(pdf, { page: 3 }), 400, 'page_missing'],
  ['too high a quality', () => client.render(pdf, { format: 'jpg', quality: 101 }), 400, 'parameter_invalid'],
  ['a quality for a PNG', () => client.render(pdf, { quality: 50 }), 400, 'parameter_invalid'],
  ['too small a width', () => client.render(pdf, { width: 15 }), 400, 'parameter_invalid'],
  ['too large a width', () => client.render(pdf, { width: 4097 }), 400, 'parameter_invalid'],
  ['an image of too many pixels', () => client.render(strip, { width: 4096 }), 400, 'picture_too_large'],
  ['a URL with fetchUrls: off', () => client.extract('https://example.com/a.pdf'), 501, 'urls_off'],
];

for (const [what, call, status, code] of WRONG) {
  test(`${what} is answered with ${status} ${code}`, async (t) => {
    const error = await errorOf(call());
    t.is(error.code, 'ERR_PDF_HTTP');
    t.is(error.answer?.status, status);
    t.is(JSON.parse(error.answer?.body ?? '').error.code, code);
    t.is(error.attempts, 1);
  });
}

function form(name: string, file: Blob | string): FormData {
  const body = new FormData();
  body.set(name, file);
  return body;
}

const RAW: readonly [what: string, path: string, init: RequestInit, status: number, code: string][] = [
  ['a file under another name', '/extract', { body: form('document', new Blob([pdf])) }, 400, 'file_missing'],
  ['a text where the file should be', '/extract', { body: form('file', 'text') }, 400, 'file_missing'],
  ['an empty file', '/extract', { body: form('file', new Blob([])) }, 400, 'body_invalid'],
  [
    'an incomplete form',
    '/extract',
    { body: '--x\r\nContent-Disp', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    400,
    'body_invalid',
  ],
  [
    'a field with a transfer encoding',
    '/extract',
    {
      body: '--x\r\nContent-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: 7bit\r\n\r\nb\r\n--x--\r\n',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    },
    400,
    'file_missing',
  ],
  [
    'a form without a boundary',
    '/extract',
    { body: 'x', headers: { 'content-type': 'multipart/form-data' } },
    400,
    'body_invalid',
  ],
  [
    'a PDF without a form',
    '/extract',
    { body: pdf, headers: { 'content-type': 'application/pdf' } },
    415,
    'content_type_unsupported',
  ],
  ['nothing', '/extract', {}, 415, 'content_type_unsupported'],
  [
    'invalid JSON',
    '/render',
    { body: '{', headers: { 'content-type': 'application/json' } },
    400,
    'body_invalid',
  ],
  [
    'JSON without a URL',
    '/render',
    { body: '{}', headers: { 'content-type': 'application/json' } },
    501,
    'urls_off',
  ],
  [
    'a page that is not a number',
    '/render?page=one',
    { body: form('file', new Blob([pdf])) },
    400,
    'parameter_invalid',
  ],
  [
    'a repeated parameter',
    '/render?page=1&page=2',
    { body: form('file', new Blob([pdf])) },
    400,
    'parameter_invalid',
  ],
  [
    'an unknown format',
    '/render?format=gif',
    { body: form('file', new Blob([pdf])) },
    400,
    'parameter_invalid',
  ],
  ['an unknown path', '/convert', { body: form('file', new Blob([pdf])) }, 404, 'not_found'],
];

for (const [what, path, init, status, code] of RAW) {
  test(`invalid requests of other clients: ${what}`, async (t) => {
    const answer = await send(service.url + path, { method: 'POST', ...init });
    t.is(answer.status, status, answer.text);
    t.like(answer.body, { error: { code } });
    t.regex(answer.headers.get('content-type') ?? '', /^application\/json/);
  });
}

test('/health reports the state of the service', async (t) => {
  const { status, body } = await send(`${service.url}/health`);
  t.is(status, 200);
  t.is(body?.['status'], 'ok');
});
