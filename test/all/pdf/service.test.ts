import { mkdtempSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { loadImage, createCanvas } from '@napi-rs/canvas';
import test from '../../harness/test.ts';
import { PdfClient, pdfText, walkPdf } from 'koa-gatehouse/pdf';

import { startPdfService } from '../../../examples/pdf-service/service.ts';
import { send } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';
import { errorOf } from './clients.ts';
import { makePdf } from './make-pdf.ts';

// The temporary folder of this file only, so that remaining files are found.
const temporary = mkdtempSync(join(tmpdir(), 'gatehouse-service-'));
process.env['TMPDIR'] = temporary;

const started = shared(async () => {
  const service = await startPdfService({ port: 0, workers: 1 });
  const pdf = await makePdf();
  const locked = await makePdf(['Secret'], { userPassword: 'sesame' });
  const strip = await makePdf(['Strip'], { size: [100, 14_000] });
  return { service, client: new PdfClient({ baseUrl: service.url }), pdf, locked, strip };
});

type Started = Awaited<ReturnType<typeof started>>;

test.after.always(async (t) => {
  await (await started()).service.stop();
  t.deepEqual(await readdir(temporary), [], 'no temporary file remains');
  await rm(temporary, { recursive: true });
});

test('a PDF is extracted as a tree of headings and paragraphs', async (t) => {
  const { client, pdf } = await started();
  const tree = await client.extract({ data: pdf, filename: 'year.pdf' });
  t.like(tree, {
    'file name': 'year.pdf',
    'number of pages': 2,
    author: 'Ada Okafor',
    title: 'The school year',
  });
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
  const { client, pdf } = await started();
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

  const options = { page: 2, format: 'jpg', quality: 5, width: 400 } as const;
  const { stream, contentLength } = await client.renderStream(pdf, options);
  t.is(contentLength, (await buffer(stream)).byteLength);
  t.true(contentLength! < jpg.data.byteLength);
});

for (const [what, call, status, code] of [
  [
    'a file that is not a PDF',
    ({ client }: Started) => client.extract(Buffer.from('<html>')),
    422,
    'pdf_invalid',
  ],
  ['half a PDF', ({ client, pdf }: Started) => client.render(pdf.subarray(0, 900)), 422, 'pdf_invalid'],
  [
    'a PDF with a password',
    ({ client, locked }: Started) => client.extract(locked),
    422,
    'password_required',
  ],
  ['a missing page', ({ client, pdf }: Started) => client.render(pdf, { page: 3 }), 400, 'page_missing'],
  [
    'too high a quality',
    ({ client, pdf }: Started) => client.render(pdf, { format: 'jpg', quality: 101 }),
    400,
    'parameter_invalid',
  ],
  [
    'a quality for a PNG',
    ({ client, pdf }: Started) => client.render(pdf, { quality: 50 }),
    400,
    'parameter_invalid',
  ],
  [
    'too small a width',
    ({ client, pdf }: Started) => client.render(pdf, { width: 15 }),
    400,
    'parameter_invalid',
  ],
  [
    'too large a width',
    ({ client, pdf }: Started) => client.render(pdf, { width: 4097 }),
    400,
    'parameter_invalid',
  ],
  [
    'an image of too many pixels',
    ({ client, strip }: Started) => client.render(strip, { width: 4096 }),
    400,
    'picture_too_large',
  ],
  [
    'a URL with fetchUrls: off',
    ({ client }: Started) => client.extract('https://example.com/a.pdf'),
    501,
    'urls_off',
  ],
] as const) {
  test(`${what} is answered with ${status} ${code}`, async (t) => {
    const error = await errorOf(call(await started()));
    t.like(error, { code: 'ERR_PDF_HTTP', response: { status }, attempts: 1 });
    t.is(JSON.parse(error.response?.body ?? '').error.code, code);
  });
}

function form(name: string, file: Blob | string): RequestInit {
  const body = new FormData();
  body.set(name, file);
  return { body };
}

function typed(type: string, body: string): RequestInit {
  return { body, headers: { 'content-type': type } };
}

const JSON_TYPE = 'application/json';
const BOUNDED = 'multipart/form-data; boundary=x';
const ENCODED =
  '--x\r\nContent-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: 7bit\r\n\r\nb\r\n--x--\r\n';

test('invalid requests of other clients are answered with JSON that says what is wrong', async (t) => {
  const { pdf, service } = await started();
  const FILE = form('file', new Blob([pdf]));
  for (const [what, path, init, status, code] of [
    ['a file under another name', '/extract', form('document', new Blob([pdf])), 400, 'file_missing'],
    ['a text where the file should be', '/extract', form('file', 'text'), 400, 'file_missing'],
    ['an empty file', '/extract', form('file', new Blob([])), 400, 'body_invalid'],
    ['an incomplete form', '/extract', typed(BOUNDED, '--x\r\nContent-Disp'), 400, 'body_invalid'],
    ['a field with a transfer encoding', '/extract', typed(BOUNDED, ENCODED), 400, 'file_missing'],
    ['no boundary', '/extract', typed('multipart/form-data', 'x'), 400, 'body_invalid'],
    ['no form', '/extract', typed('application/pdf', '%PDF'), 415, 'content_type_unsupported'],
    ['nothing', '/extract', {}, 415, 'content_type_unsupported'],
    ['invalid JSON', '/render', typed(JSON_TYPE, '{'), 400, 'body_invalid'],
    ['JSON without a URL', '/render', typed(JSON_TYPE, '{}'), 501, 'urls_off'],
    ['a page that is not a number', '/render?page=one', FILE, 400, 'parameter_invalid'],
    ['a repeated parameter', '/render?page=1&page=2', FILE, 400, 'parameter_invalid'],
    ['an unknown format', '/render?format=gif', FILE, 400, 'parameter_invalid'],
    ['an unknown path', '/convert', FILE, 404, 'not_found'],
  ] as const) {
    const answer = await send(service.url + path, { method: 'POST', ...init });
    t.is(answer.status, status, `${what}: ${answer.text}`);
    t.like(answer.body, { error: { code } }, what);
    t.regex(answer.headers.get('content-type') ?? '', /^application\/json/);
  }
});
