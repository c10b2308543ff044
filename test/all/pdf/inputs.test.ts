import { createReadStream, mkdtempSync, openAsBlob, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import test from '../../harness/test.ts';
import { koaBody } from 'koa-body';
import type { PdfInput } from 'koa-gatehouse/pdf';
import multer from 'multer';

import { serve, serveApp } from '../../harness/serve.ts';
import { PDF, clientOf, errorOf } from './clients.ts';
import { TREE, faultServer, formOf, json } from './fault-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-inputs-'));
const filename = 'Jahresbericht „2026“.pdf';
const path = join(folder, filename);
writeFileSync(path, PDF);
writeFileSync(join(folder, 'empty.pdf'), '');
symlinkSync(path, join(folder, 'link.pdf'));

test.after.always(() => rm(folder, { recursive: true }));

const size = PDF.byteLength;
for (const [what, input, name] of [
  ['a path', path, filename],
  ['a path to a symbolic link', join(folder, 'link.pdf'), 'link.pdf'],
  ['{ path }', { path }, filename],
  ['{ path, filename }', { path, filename: 'report.pdf' }, 'report.pdf'],
  ['bytes', PDF, 'document.pdf'],
  ['a part of a buffer', Buffer.concat([Buffer.from('no'), PDF]).subarray(2), 'document.pdf'],
  ['a Blob', new Blob([PDF]), 'document.pdf'],
  ['a File', new File([PDF], 'own.pdf'), 'own.pdf'],
  ['a Blob of a file', async () => openAsBlob(path), 'document.pdf'],
  ['{ data, filename }', { data: PDF, filename: 'a.pdf' }, 'a.pdf'],
  ['{ data } with a Blob', { data: new File([PDF], 'b.pdf') }, 'b.pdf'],
  ['a stream', createReadStream(path), 'document.pdf'],
  ['a web stream', new Blob([PDF]).stream(), 'document.pdf'],
  ['a stream with its size', { stream: createReadStream(path), filename: 's.pdf', size }, 's.pdf'],
] satisfies [string, PdfInput | (() => Promise<PdfInput>), string][]) {
  test(`${what} is sent as the part "file"`, async (t) => {
    await using service = await faultServer(json(TREE));
    t.deepEqual(await clientOf(service).extract(typeof input === 'function' ? await input() : input), TREE);
    const [received] = service.received;
    t.is(received!.url, '/extract');
    const isChunked = what === 'a stream' || what === 'a web stream';
    const length = isChunked ? undefined : String(received!.body.byteLength);
    t.is(received!.headers['content-length'], length);
    const form = { parts: 1, name, type: 'application/pdf', bytes: Buffer.from(PDF) };
    t.deepEqual(await formOf(received!), form);
  });
}

test('the https URL of a PDF is sent as JSON, normalised', async (t) => {
  await using service = await faultServer(json(TREE));
  for (const input of [
    ' HTTPS://EXAMPLE.com/A b.pdf?x=1#page=2 ',
    new URL('https://example.com/A%20b.pdf?x=1#page=2'),
    { url: 'https://example.com/A b.pdf?x=1' },
  ]) {
    t.deepEqual(await clientOf(service).extract(input), TREE);
    const { headers, body } = service.received.at(-1)!;
    t.is(headers['content-type'], 'application/json');
    t.is(headers['content-length'], String(body.byteLength));
    t.deepEqual(JSON.parse(body.toString()), { url: 'https://example.com/A%20b.pdf?x=1' });
  }
});

const SEVERAL = 'Several PDFs were passed, but one is expected. Pass them one by one.';
const NONE = 'There is no PDF. Pass a path, an https URL, an uploaded file, a Blob, bytes or a stream.';
const NO_URL = 'The URL of the PDF is not valid. Pass an absolute URL.';
const NO_PATH = 'A string must be the https URL of a PDF, or the path of a file if localFiles is true.';
const EMPTY = 'The PDF is empty.';
const CREDENTIALS = 'The URL of a PDF must not contain credentials. Fetch it yourself, and pass the bytes.';
const SIZE = 'The size of a stream must be a whole number of bytes, at least 1.';

test('what is no PDF is an error before any request', async (t) => {
  await using service = await faultServer(json(TREE));
  for (const [input, message] of [
    ['http://example.com/a.pdf', 'The URL of a PDF must be https, not http.'],
    [pathToFileURL(path).href, 'The URL of a PDF must be https, not file.'],
    [pathToFileURL(path), 'The URL of a PDF must be https, not file.'],
    ['data:application/pdf;base64,JVBERg==', 'The URL of a PDF must be https, not data.'],
    [{ url: 'ftp://example.com/a.pdf' }, 'The URL of a PDF must be https, not ftp.'],
    ['https://ann:secret@example.com/a.pdf', CREDENTIALS],
    ['https://', NO_URL],
    [{ url: '/a.pdf' }, NO_URL],
    [{ url: 5 }, NO_URL],
    ['', NO_PATH],
    [undefined, NONE],
    [null, NONE],
    [5, NONE],
    [{ file: 'a.pdf' }, NONE],
    [{ data: 'text' }, NONE],
    [[new Blob([PDF])], SEVERAL],
    [new Uint8Array(), EMPTY],
    [new Blob([]), EMPTY],
    [join(folder, 'empty.pdf'), EMPTY],
    [{ stream: new Blob([PDF]).stream(), size: -1 }, SIZE],
  ] as const) {
    const error = await errorOf(clientOf(service).extract(input as PdfInput));
    t.like(error, { code: 'ERR_PDF_INPUT', message, status: 400, attempts: 0 });
  }
  t.is(service.received.length, 0);
});

test('a file that cannot be read is an error before any request', async (t) => {
  await using service = await faultServer(json(TREE));
  const folderMessage = 'is not a file, but a folder or a device.';
  const cannot = 'cannot be opened. Check that it exists and can be read.';
  for (const [input, message, code] of [
    [join(folder, 'no.pdf'), `The PDF at ${join(folder, 'no.pdf')} ${cannot}`, 'ENOENT'],
    [folder, `${folder} ${folderMessage}`, undefined],
    // It is endless.
    ['/dev/zero', `/dev/zero ${folderMessage}`, undefined],
    ['a\0b', `The PDF at a\0b ${cannot}`, 'ERR_INVALID_ARG_VALUE'],
    ['C:\\report.pdf', `The PDF at C:\\report.pdf ${cannot}`, 'ENOENT'],
  ] as const) {
    const error = await errorOf(clientOf(service).render(input));
    t.like(error, { code: 'ERR_PDF_UNREADABLE', message, status: 500, attempts: 0 });
    t.is((error.cause as { code?: string } | undefined)?.code, code);
  }
  t.is(service.received.length, 0);
});

test('with localFiles: false no local file is sent, whatever form its name has', async (t) => {
  await using service = await faultServer(json(TREE));
  const client = clientOf(service, { localFiles: false });
  t.like(await errorOf(client.extract('/etc/passwd')), { code: 'ERR_PDF_INPUT', message: NO_PATH });
  for (const input of [
    { path },
    { path, filename: 'a.pdf' },
    { filepath: path, originalFilename: 'a.pdf' },
    { originalname: 'a.pdf', path },
    { originalname: 'a.pdf', path, buffer: PDF },
    // A Blob and a stream after parsing JSON.
    { data: { size: 9 }, path },
    { stream: {}, filepath: path },
  ]) {
    t.like(await errorOf(client.extract(input as PdfInput)), {
      code: 'ERR_PDF_INPUT',
      message: 'Local files are not sent, because localFiles is false. Pass the bytes, a Blob or a stream.',
    });
  }
  t.is(service.received.length, 0);
  for (const input of [
    'https://example.com/a.pdf',
    { originalname: 'a.pdf', buffer: PDF },
    { stream: createReadStream(path) },
    await openAsBlob(path),
  ])
    t.deepEqual(await client.extract(input), TREE);
});

test('a file name is encoded in its header field', async (t) => {
  await using service = await faultServer(json(TREE));
  await clientOf(service).extract({
    data: PDF,
    filename: 'a"; name="x"\r\n\r\nb\0\u{1F600}\uD800.pdf',
  });
  const form = await formOf(service.received[0]!);
  t.is(form.parts, 1);
  t.is(form.name, 'a"; name="x"\r\n\r\nb%00\u{1F600}\uFFFD.pdf');
  t.deepEqual(form.bytes, Buffer.from(PDF));
});

async function* failing(): AsyncGenerator<Uint8Array> {
  yield PDF;
  throw new Error('The disk failed');
}

const bytes = (): ReadableStream => new Blob([PDF]).stream();
const notLong = (length: number): string =>
  `The stream of the PDF is not ${length} bytes long, as its size says.`;

test('a stream is sent completely or not at all', async (t) => {
  await using service = await faultServer(json(TREE));
  for (const [input, code, message] of [
    [failing(), 'ERR_PDF_UNREADABLE', 'The stream of the PDF failed before its end.'],
    [
      bytes().pipeThrough(new TextDecoderStream()),
      'ERR_PDF_INPUT',
      'The stream does not return bytes. Do not set an encoding on it.',
    ],
    [ReadableStream.from([]), 'ERR_PDF_INPUT', EMPTY],
    [{ stream: bytes(), size: 99 }, 'ERR_PDF_UNREADABLE', notLong(99)],
    [{ stream: bytes(), size: 3 }, 'ERR_PDF_UNREADABLE', notLong(3)],
  ] as const)
    t.like(await errorOf(clientOf(service).extract(input as PdfInput)), { code, message, attempts: 1 });
  for (const { body } of service.received) t.is(body.byteLength, 0);
});

test('files uploaded through koa-body and multer are accepted as input', async (t) => {
  await using service = await faultServer(json(TREE));
  const client = clientOf(service);
  const host = await serveApp(t, koaBody({ multipart: true }), async (ctx) => {
    const file = ctx.request.files?.['file'];
    ctx.body = await client.extract(Array.isArray(file) ? file[0]! : file!);
  });
  await send(host);

  for (const parser of [multer({ dest: folder }), multer({ storage: multer.memoryStorage() })]) {
    const read = parser.single('file');
    await using express = await serve(() => (request, response) => {
      // The types are those of Express requests; multer works with others too.
      read(request as never, response as never, () => {
        const { file } = request as unknown as { file: Express.Multer.File };
        void client.extract(file).then((tree) => response.end(JSON.stringify(tree)));
      });
    });
    await send(express.origin);
  }

  async function send(origin: string): Promise<void> {
    const body = new FormData();
    body.set('file', new File([PDF], 'sent.pdf', { type: 'application/pdf' }));
    const response = await fetch(origin, { method: 'POST', body });
    t.deepEqual(await response.json(), TREE);
    const form = await formOf(service.received.at(-1)!);
    t.is(form.name, 'sent.pdf');
    t.deepEqual(form.bytes, Buffer.from(PDF));
  }
});
