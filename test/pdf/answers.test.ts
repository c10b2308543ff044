import { gzipSync } from 'node:zlib';

import test from 'ava';

import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, png } from './fault-server.ts';
import type { Reply } from './fault-server.ts';

const HTML = '<!doctype html><title>Log in</title>';

interface Fault {
  readonly call: 'extract' | 'render';
  readonly reply: Reply;
  readonly says: RegExp;
}

const JPEG = Buffer.from('ffd8ffe000104a4649460001ffd9', 'hex');

const FAULTS: Readonly<Record<string, Fault>> = {
  'HTML instead of JSON': {
    call: 'extract',
    reply: answer(200, HTML, { 'content-type': 'text/html' }),
    says: /\(text\/html\) is not JSON\.$/,
  },
  'nothing instead of JSON': {
    call: 'extract',
    reply: answer(200, '', { 'content-type': 'application/json' }),
    says: /\(application\/json\) is empty\.$/,
  },
  'no content': { call: 'extract', reply: answer(204, ''), says: /\(of no type\) is empty\.$/ },
  'JSON that ends early': {
    call: 'extract',
    reply: answer(200, '{"kids":[', { 'content-type': 'application/json' }),
    says: /is not JSON\.$/,
  },
  'JSON that is not UTF-8': {
    call: 'extract',
    reply: answer(200, Buffer.from('7b2261223a22ff227d', 'hex')),
    says: /is not JSON\.$/,
  },
  'a JSON string': {
    call: 'extract',
    reply: answer(200, '"hello"'),
    says: /is JSON, but not the tree of a PDF\.$/,
  },
  'a JSON null': { call: 'extract', reply: answer(200, 'null'), says: /not the tree of a PDF\.$/ },
  'a JSON array': { call: 'extract', reply: answer(200, '[]'), says: /not the tree of a PDF\.$/ },
  'kids that are no array': {
    call: 'extract',
    reply: answer(200, '{"kids":{}}'),
    says: /not the tree of a PDF\.$/,
  },
  'HTML instead of an image': {
    call: 'render',
    reply: answer(200, HTML, { 'content-type': 'text/html; charset=utf-8' }),
    says: /\(text\/html; charset=utf-8\) is not a PNG or JPEG image\.$/,
  },
  'HTML with an image type': {
    call: 'render',
    reply: answer(200, HTML, { 'content-type': 'image/png' }),
    says: /\(image\/png\) does not have the image format of its Content-Type\.$/,
  },
  'an image of another type': {
    call: 'render',
    reply: answer(200, 'GIF89a', { 'content-type': 'image/gif' }),
    says: /\(image\/gif\) is not a PNG or JPEG image\.$/,
  },
  'no picture': {
    call: 'render',
    reply: answer(200, '', { 'content-type': 'image/png' }),
    says: /is empty\.$/,
  },
  'an incomplete PNG': {
    call: 'render',
    reply: answer(200, PNG.subarray(0, -4), { 'content-type': 'image/png' }),
    says: /is an incomplete image\.$/,
  },
  'an incomplete JPEG': {
    call: 'render',
    reply: answer(200, JPEG.subarray(0, -1), { 'content-type': 'image/jpeg' }),
    says: /is an incomplete image\.$/,
  },
  'an incomplete PNG without a length': {
    call: 'render',
    reply: (request, response) => {
      request.resume();
      response.shouldKeepAlive = false;
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { 'content-type': 'image/png', connection: 'close' });
      response.write(PNG.subarray(0, 30), () => request.socket.end());
    },
    says: /is an incomplete image\.$/,
  },
};

for (const [what, { call, reply, says }] of Object.entries(FAULTS)) {
  test(`${what}: ERR_PDF_RESPONSE, after one request`, async (t) => {
    await using service = await faultServer(reply);
    const error = await errorOf(clientOf(service)[call](PDF));
    t.is(error.code, 'ERR_PDF_RESPONSE');
    t.is(error.status, 502);
    t.regex(error.message, says);
    t.true(error.message.startsWith(`The response of the PDF service at ${service.origin} (`));
    t.is(error.attempts, 1);
    t.is(service.received.length, 1);
    if (says.source.includes('html') && !says.source.includes('claims')) t.is(error.answer?.body, HTML);
  });
}

test('a response that is not valid gzip is ERR_PDF_CONNECTION, without retries', async (t) => {
  await using service = await faultServer(answer(200, 'no gzip', { 'content-encoding': 'gzip' }));
  const error = await errorOf(clientOf(service).extract(PDF));
  t.is(error.code, 'ERR_PDF_CONNECTION');
  t.is(error.attempts, 1);
});

test('valid responses: compressed, with a byte order mark, with any content type, a JPEG', async (t) => {
  const text = JSON.stringify(TREE);
  const replies = [
    answer(200, gzipSync(text), { 'content-encoding': 'gzip', 'content-type': 'application/json' }),
    answer(200, `\uFEFF${text}`, { 'content-type': 'application/json' }),
    answer(200, text, { 'content-type': 'text/plain' }),
    answer(201, text),
  ];
  for (const reply of replies) {
    await using service = await faultServer(reply);
    t.deepEqual(await clientOf(service).extract(PDF), TREE);
  }
  await using service = await faultServer(answer(200, JPEG, { 'content-type': 'IMAGE/JPEG; x=y' }));
  t.deepEqual(await clientOf(service).render(PDF, { format: 'jpg' }), {
    data: JPEG,
    contentType: 'image/jpeg',
  });
});

test('an image in another format than requested is an error', async (t) => {
  await using service = await faultServer(png);
  const error = await errorOf(clientOf(service).render(PDF, { format: 'jpg' }));
  t.regex(error.message, /\(image\/png\) is not a jpg image\.$/);
});

test('a gzip bomb is not decompressed beyond the limit', async (t) => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  await using service = await faultServer(answer(200, bomb, { 'content-encoding': 'gzip' }));
  let taken = 0;
  const error = await errorOf(
    clientOf(service, { maxResponseBytes: 1_000_000 }).extract(PDF, {
      onDownloadProgress({ transferred }) {
        taken = transferred;
      },
    }),
  );
  t.is(error.code, 'ERR_PDF_RESPONSE');
  t.regex(error.message, /is larger than 1000000 bytes, which maxResponseBytes allows\.$/);
  t.true(taken <= 1_000_000);
  t.is(error.attempts, 1);
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
  t.is(error.answer?.status, 500);
  t.is(error.answer?.body, 'x'.repeat(16_384));
  t.true(error.message.length < 300);
  t.true(written < 50_000_000, String(written));
});

test('an incomplete error response is reported with its status', async (t) => {
  await using service = await faultServer((request, response) => {
    request.resume();
    response.writeHead(422, { 'content-length': '1000' });
    response.write('{"error":', () => request.socket.destroy());
  });
  const error = await errorOf(clientOf(service).extract(PDF));
  t.is(error.code, 'ERR_PDF_HTTP');
  t.like(error.answer, { status: 422, body: '{"error":' });
  t.is(error.attempts, 1);
});

test('a response that is not HTTP is ERR_PDF_CONNECTION, without retries', async (t) => {
  await using service = await faultServer((request) => request.socket.end('220 mail.example ESMTP\r\n'));
  const error = await errorOf(clientOf(service).extract(PDF));
  t.is(error.code, 'ERR_PDF_CONNECTION');
  t.is(error.attempts, 1);
});
