import { createReadStream, openAsBlob } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import test from 'ava';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import type { PdfInput } from 'koa-gatehouse/pdf';
import multer from 'multer';

import { serve } from '../harness/serve.ts';
import { PDF, clientOf, errorOf } from './clients.ts';
import { TREE, faultServer, formOf, json } from './fault-server.ts';

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-inputs-'));
const path = join(folder, 'Jahresbericht „2026“.pdf');
await writeFile(path, PDF);
await writeFile(join(folder, 'empty.pdf'), '');
await symlink(path, join(folder, 'link.pdf'));

test.after.always(() => rm(folder, { recursive: true }));

const INPUTS: Record<string, { input: () => PdfInput | Promise<PdfInput>; name: string; chunked?: true }> = {
  'a path': { input: () => path, name: 'Jahresbericht „2026“.pdf' },
  'a path to a symbolic link': { input: () => join(folder, 'link.pdf'), name: 'link.pdf' },
  '{ path }': { input: () => ({ path }), name: 'Jahresbericht „2026“.pdf' },
  '{ path, filename }': { input: () => ({ path, filename: 'report.pdf' }), name: 'report.pdf' },
  bytes: { input: () => PDF, name: 'document.pdf' },
  'a part of a buffer': {
    input: () => Buffer.concat([Buffer.from('no'), PDF]).subarray(2),
    name: 'document.pdf',
  },
  'a Blob': { input: () => new Blob([PDF]), name: 'document.pdf' },
  'a File': { input: () => new File([PDF], 'own.pdf'), name: 'own.pdf' },
  'a Blob of a file': { input: () => openAsBlob(path), name: 'document.pdf' },
  '{ data, filename }': { input: () => ({ data: PDF, filename: 'a.pdf' }), name: 'a.pdf' },
  '{ data } with a Blob': { input: () => ({ data: new File([PDF], 'b.pdf') }), name: 'b.pdf' },
  'a stream': { input: () => createReadStream(path), name: 'document.pdf', chunked: true },
  'a web stream': { input: () => new Blob([PDF]).stream(), name: 'document.pdf', chunked: true },
  '{ stream, filename, size }': {
    input: () => ({ stream: createReadStream(path), filename: 's.pdf', size: PDF.byteLength }),
    name: 's.pdf',
  },
  'a file of formidable': {
    input: () => ({
      filepath: path,
      originalFilename: 'sent.pdf',
      mimetype: null,
      size: 1,
      newFilename: 'x',
    }),
    name: 'sent.pdf',
  },
  'a file of multer on disk': {
    input: () => ({ path, originalname: 'disk.pdf', filename: '5f3a', fieldname: 'file', size: 1 }),
    name: 'disk.pdf',
  },
  'a file of multer in memory': {
    input: () => ({ buffer: Buffer.from(PDF), originalname: 'memory.pdf', fieldname: 'file', size: 1 }),
    name: 'memory.pdf',
  },
};

for (const [what, { input, name, chunked = false }] of Object.entries(INPUTS)) {
  for (const call of ['extract', 'render'] as const) {
    test(`${call}: ${what} is sent as the part "file"`, async (t) => {
      await using service = await faultServer(json(TREE));
      const sent = clientOf(service)[call](await input());
      if (call === 'extract') t.deepEqual(await sent, TREE);
      else await errorOf(sent);
      const [received] = service.received;
      t.is(received!.url, `/${call}`);
      const length = received!.headers['content-length'];
      t.is(length, chunked ? undefined : String(received!.body.byteLength));
      t.deepEqual(await formOf(received!), {
        parts: 1,
        name,
        type: 'application/pdf',
        bytes: Buffer.from(PDF),
      });
    });
  }
}

for (const [what, input] of Object.entries<PdfInput>({
  'a string': ' HTTPS://EXAMPLE.com/A b.pdf?x=1#page=2 ',
  'a URL': new URL('https://example.com/A%20b.pdf?x=1#page=2'),
  '{ url }': { url: 'https://example.com/A b.pdf?x=1' },
})) {
  test(`the https URL of a PDF, as ${what}, is sent as JSON, normalised`, async (t) => {
    await using service = await faultServer(json(TREE));
    t.deepEqual(await clientOf(service).extract(input), TREE);
    const { headers, body } = service.received[0]!;
    t.is(headers['content-type'], 'application/json');
    t.is(headers['content-length'], String(body.byteLength));
    t.deepEqual(JSON.parse(body.toString()), { url: 'https://example.com/A%20b.pdf?x=1' });
  });
}

const SEVERAL = 'Several PDFs were passed, but one is expected. Pass them one by one.';
const NONE = 'There is no PDF. Pass a path, an https URL, an uploaded file, a Blob, bytes or a stream.';
const NO_URL = 'The URL of the PDF is not valid. Pass an absolute URL.';
const EMPTY = 'The PDF is empty.';
const CREDENTIALS = 'The URL of a PDF must not contain credentials. Fetch it yourself, and pass the bytes.';

const REFUSED: readonly [what: string, input: unknown, message: string][] = [
  ['an http URL', 'http://example.com/a.pdf', 'The URL of a PDF must be https, not http.'],
  ['a file URL', pathToFileURL(path).href, 'The URL of a PDF must be https, not file.'],
  ['a file URL object', pathToFileURL(path), 'The URL of a PDF must be https, not file.'],
  ['a data URL', 'data:application/pdf;base64,JVBERg==', 'The URL of a PDF must be https, not data.'],
  ['an ftp URL', { url: 'ftp://example.com/a.pdf' }, 'The URL of a PDF must be https, not ftp.'],
  ['a javascript URL', 'javascript:alert(1)', 'The URL of a PDF must be https, not javascript.'],
  ['a URL with credentials', 'https://ann:secret@example.com/a.pdf', CREDENTIALS],
  ['a URL without a host', 'https://', NO_URL],
  ['a relative URL', { url: '/a.pdf' }, NO_URL],
  ['an invalid URL', { url: 5 }, NO_URL],
  [
    'an empty string',
    '',
    'A string must be the https URL of a PDF, or the path of a file if localFiles is true.',
  ],
  ['nothing', undefined, NONE],
  ['null', null, NONE],
  ['a number', 5, NONE],
  ['another object', { file: 'a.pdf' }, NONE],
  ['invalid data', { data: 'text' }, NONE],
  ['several files', [new Blob([PDF])], SEVERAL],
  ['no bytes', new Uint8Array(), EMPTY],
  ['an empty Blob', new Blob([]), EMPTY],
  ['an empty file', join(folder, 'empty.pdf'), EMPTY],
  [
    'an invalid size',
    { stream: new Blob([PDF]).stream(), size: -1 },
    'The size of a stream must be a whole number of bytes, at least 1.',
  ],
];

for (const [what, input, message] of REFUSED) {
  test(`${what} is an error before any request`, async (t) => {
    await using service = await faultServer(json(TREE));
    const error = await errorOf(clientOf(service).extract(input as PdfInput));
    t.is(error.code, 'ERR_PDF_INPUT');
    t.is(error.message, message);
    t.is(error.status, 400);
    t.is(error.attempts, 0);
    t.is(service.received.length, 0);
  });
}

const UNREADABLE: readonly [what: string, path: string, message: string, cause?: string][] = [
  [
    'a missing file',
    join(folder, 'no.pdf'),
    `The PDF at ${join(folder, 'no.pdf')} cannot be opened. Check that it exists and can be read.`,
    'ENOENT',
  ],
  ['a folder', folder, `${folder} is not a file, but a folder or a device.`],
  ['an endless device', '/dev/zero', '/dev/zero is not a file, but a folder or a device.'],
  [
    'a path with a NUL',
    'a\0b',
    'The PDF at a\0b cannot be opened. Check that it exists and can be read.',
    'ERR_INVALID_ARG_VALUE',
  ],
  [
    'a Windows path',
    'C:\\report.pdf',
    'The PDF at C:\\report.pdf cannot be opened. Check that it exists and can be read.',
    'ENOENT',
  ],
];

for (const [what, input, message, code] of UNREADABLE) {
  test(`${what} cannot be read`, async (t) => {
    await using service = await faultServer(json(TREE));
    const error = await errorOf(clientOf(service).render(input));
    t.is(error.code, 'ERR_PDF_UNREADABLE');
    t.is(error.message, message);
    t.is((error.cause as { code?: string } | undefined)?.code, code);
    t.is(error.status, 500);
    t.is(error.attempts, 0);
    t.is(service.received.length, 0);
  });
}

test('with localFiles: false no local file is sent, whatever form its name has', async (t) => {
  await using service = await faultServer(json(TREE));
  const client = clientOf(service, { localFiles: false });
  const error = await errorOf(client.extract('/etc/passwd'));
  t.is(error.code, 'ERR_PDF_INPUT');
  t.is(
    error.message,
    'A string must be the https URL of a PDF, or the path of a file if localFiles is true.',
  );
  t.is(service.received.length, 0);
  const named: readonly PdfInput[] = [
    { path },
    { path, filename: 'a.pdf' },
    { filepath: path, originalFilename: 'a.pdf' },
    { originalname: 'a.pdf', path },
    { originalname: 'a.pdf', path, buffer: PDF },
    // A Blob and a stream after parsing JSON.
    { data: { size: 9 }, path } as unknown as PdfInput,
    { stream: {}, filepath: path } as unknown as PdfInput,
  ];
  for (const input of named) {
    for (const call of [client.extract(input), client.render(input)]) {
      const refused = await errorOf(call);
      t.is(refused.code, 'ERR_PDF_INPUT', JSON.stringify(input));
      t.is(
        refused.message,
        'Local files are not sent, because localFiles is false. Pass the bytes, a Blob or a stream.',
      );
    }
  }
  t.is(service.received.length, 0);
  t.deepEqual(await client.extract('https://example.com/a.pdf'), TREE);
  t.deepEqual(await client.extract({ originalname: 'a.pdf', buffer: PDF }), TREE);
  t.deepEqual(await client.extract({ stream: createReadStream(path) }), TREE);
  t.deepEqual(await client.extract(await openAsBlob(path)), TREE);
});

test('a file name is encoded in its header field', async (t) => {
  await using service = await faultServer(json(TREE));
  const filename = 'a"; name="x"\r\n\r\nb\0\u{1F600}\uD800.pdf';
  await clientOf(service).extract({ data: PDF, filename });
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

for (const [input, code, message] of [
  [failing(), 'ERR_PDF_UNREADABLE', 'The stream of the PDF failed before its end.'],
  [
    bytes().pipeThrough(new TextDecoderStream()),
    'ERR_PDF_INPUT',
    'The stream does not return bytes. Do not set an encoding on it.',
  ],
  [ReadableStream.from([]), 'ERR_PDF_INPUT', 'The PDF is empty.'],
  [
    { stream: bytes(), size: 99 },
    'ERR_PDF_UNREADABLE',
    'The stream of the PDF is not 99 bytes long, as its size says.',
  ],
  [
    { stream: bytes(), size: 3 },
    'ERR_PDF_UNREADABLE',
    'The stream of the PDF is not 3 bytes long, as its size says.',
  ],
] as const) {
  test(`a stream is sent completely or not at all: ${message}`, async (t) => {
    await using service = await faultServer(json(TREE));
    const error = await errorOf(clientOf(service).extract(input as PdfInput));
    t.is(error.message, message);
    t.is(error.code, code);
    t.is(error.attempts, 1);
    for (const { body } of service.received) t.is(body.byteLength, 0);
  });
}

test('files uploaded through koa-body and multer are accepted as input', async (t) => {
  await using service = await faultServer(json(TREE));
  const client = clientOf(service);
  const app = new Koa();
  app.use(koaBody({ multipart: true }));
  app.use(async (ctx) => {
    const file = ctx.request.files?.['file'];
    ctx.body = await client.extract(Array.isArray(file) ? file[0]! : file!);
  });
  await using host = await serve(() => (request, response) => void app.callback()(request, response));
  await send(host.origin);

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
