import { gzipSync } from 'node:zlib';

import test from '../../harness/test.ts';

import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, png } from './fault-server.ts';
import type { Reply } from './fault-server.ts';

const HTML = '<!doctype html><title>Log in</title>';
const JPEG = Buffer.from('ffd8ffe000104a4649460001ffd9', 'hex');
const NO_IMAGE = 'does not have the image format of its Content-Type';
const INCOMPLETE = 'is an incomplete image';
const NO_TREE = 'is JSON, but not the tree of a PDF';

function typed(type: string, body: string | Uint8Array): Reply {
  return answer(200, body, { 'content-type': type });
}

const withoutLength: Reply = (request, response) => {
  request.resume();
  response.shouldKeepAlive = false;
  response.useChunkedEncodingByDefault = false;
  response.writeHead(200, { 'content-type': 'image/png', connection: 'close' });
  response.write(PNG.subarray(0, 30), () => request.socket.end());
};

for (const [what, call, reply, type, says] of [
  ['HTML instead of JSON', 'extract', typed('text/html', HTML), 'text/html', 'is not JSON'],
  ['nothing', 'extract', typed('application/json', ''), 'application/json', 'is empty'],
  ['no content', 'extract', answer(204, ''), 'of no type', 'is empty'],
  ['JSON that ends early', 'extract', answer(200, '{"kids":['), 'of no type', 'is not JSON'],
  ['no UTF-8', 'extract', answer(200, Buffer.from('7b2261223a22ff227d', 'hex')), 'of no type', 'is not JSON'],
  ['a JSON string', 'extract', answer(200, '"hello"'), 'of no type', NO_TREE],
  ['a JSON null', 'extract', answer(200, 'null'), 'of no type', NO_TREE],
  ['a JSON array', 'extract', answer(200, '[]'), 'of no type', NO_TREE],
  ['kids that are no array', 'extract', answer(200, '{"kids":{}}'), 'of no type', NO_TREE],
  ['HTML instead of an image', 'render', typed('text/html', HTML), 'text/html', 'is not a PNG or JPEG image'],
  ['HTML with an image type', 'render', typed('image/png', HTML), 'image/png', NO_IMAGE],
  ['another type', 'render', typed('image/gif', 'GIF89a'), 'image/gif', 'is not a PNG or JPEG image'],
  ['another format than requested', 'jpg', png, 'image/png', 'is not a jpg image'],
  ['no picture', 'render', typed('image/png', ''), 'image/png', 'is empty'],
  ['an incomplete PNG', 'render', typed('image/png', PNG.subarray(0, -4)), 'image/png', INCOMPLETE],
  ['an incomplete JPEG', 'render', typed('image/jpeg', JPEG.subarray(0, -1)), 'image/jpeg', INCOMPLETE],
  ['an incomplete PNG without a length', 'render', withoutLength, 'image/png', INCOMPLETE],
] as const) {
  test(`${what}: ERR_PDF_RESPONSE, after one request`, async (t) => {
    await using service = await faultServer(reply);
    const client = clientOf(service);
    const sent = call === 'jpg' ? client.render(PDF, { format: 'jpg' }) : client[call](PDF);
    const error = await errorOf(sent);
    t.like(error, { code: 'ERR_PDF_RESPONSE', status: 502, attempts: 1 });
    t.is(error.message, `The response of the PDF service at ${service.origin} (${type}) ${says}.`);
    t.is(service.received.length, 1);
    if (type === 'text/html') t.is(error.response?.body, HTML);
  });
}

test('what is no HTTP, and no valid gzip, is ERR_PDF_CONNECTION, without retries', async (t) => {
  for (const reply of [
    answer(200, 'no gzip', { 'content-encoding': 'gzip' }),
    (request) => request.socket.end('220 mail.example ESMTP\r\n'),
  ] satisfies Reply[]) {
    await using service = await faultServer(reply);
    t.like(await errorOf(clientOf(service).extract(PDF)), { code: 'ERR_PDF_CONNECTION', attempts: 1 });
  }
});

test('valid responses: compressed, with a byte order mark, with any content type, a JPEG', async (t) => {
  const text = JSON.stringify(TREE);
  for (const reply of [
    answer(200, gzipSync(text), { 'content-encoding': 'gzip', 'content-type': 'application/json' }),
    typed('application/json', `\uFEFF${text}`),
    typed('text/plain', text),
    answer(201, text),
  ]) {
    await using service = await faultServer(reply);
    t.deepEqual(await clientOf(service).extract(PDF), TREE);
  }
  await using service = await faultServer(typed('IMAGE/JPEG; x=y', JPEG));
  t.deepEqual(await clientOf(service).render(PDF, { format: 'jpg' }), {
    data: JPEG,
    contentType: 'image/jpeg',
  });
});

test('a gzip bomb is not decompressed beyond the limit', async (t) => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  await using service = await faultServer(answer(200, bomb, { 'content-encoding': 'gzip' }));
  let taken = 0;
  const call = clientOf(service, { maxResponseBytes: 1_000_000 }).extract(PDF, {
    onDownloadProgress({ transferred }) {
      taken = transferred;
    },
  });
  const error = await errorOf(call);
  t.like(error, { code: 'ERR_PDF_RESPONSE', attempts: 1 });
  t.regex(error.message, /is larger than 1000000 bytes, which maxResponseBytes allows\.$/);
  t.true(taken <= 1_000_000);
});

test('a response just within the limit is accepted', async (t) => {
  await using service = await faultServer(png);
  const client = clientOf(service, { maxResponseBytes: PNG.byteLength });
  t.deepEqual((await client.render(PDF)).data, PNG);
  const error = await errorOf(client.render(PDF, { maxResponseBytes: PNG.byteLength - 1 }));
  t.regex(error.message, /is larger than/);
});

test('of an endless error response, 16 KiB are read', async (t) => {
  let written = 0;
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(500, { 'content-type': 'text/plain' });
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536))) written += 65_536;
    };
    response.on('drain', more);
    more();
  });
  const error = await errorOf(clientOf(service, { retries: 0 }).extract(PDF));
  t.like(error.response, { status: 500, body: 'x'.repeat(16_384) });
  t.true(error.message.length < 300);
  t.true(written < 50_000_000, String(written));
});

test('an incomplete error response is reported with its status', async (t) => {
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(422, { 'content-length': '1000' });
    response.write('{"error":', () => request.socket.destroy());
  });
  t.like(await errorOf(clientOf(service).extract(PDF)), {
    code: 'ERR_PDF_HTTP',
    attempts: 1,
    response: { status: 422, body: '{"error":' },
  });
});
