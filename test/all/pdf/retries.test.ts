import { createServer } from 'node:http';

import test from '../../harness/test.ts';

import { freePort } from '../../harness/free-port.ts';
import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, formOf, json, png } from './fault-server.ts';
import type { Reply } from './fault-server.ts';
import type { PdfHooks } from '../../../lib/pdf/options.ts';

const unavailable = answer(503, 'try later', { 'content-type': 'text/plain' });

test('two 503 responses: the third request has the same document', async (t) => {
  await using service = await faultServer(unavailable, unavailable, json(TREE));
  t.deepEqual(await clientOf(service).extract(PDF), TREE);
  t.is(service.received.length, 3);
  for (const record of service.received) {
    t.like(record, { method: 'POST', url: '/extract' });
    t.deepEqual((await formOf(record)).bytes, Buffer.from(PDF));
  }
});

test('after the last attempt, the error has the number of attempts and the last response', async (t) => {
  await using service = await faultServer(unavailable);
  t.like(await errorOf(clientOf(service).extract(PDF)), {
    code: 'ERR_PDF_HTTP',
    attempts: 3,
    status: 502,
    message: `The PDF service answered ${service.origin}/extract with 503: try later`,
    response: { status: 503, body: 'try later', headers: { 'content-type': 'text/plain' } },
  });
  t.is(service.received.length, 3);
});

test('retries counts attempts after the first: 0 makes one request, and the call’s option takes precedence', async (t) => {
  await using service = await faultServer(unavailable);
  const client = clientOf(service, { retries: 0 });
  t.is((await errorOf(client.extract(PDF))).attempts, 1);
  client.retries = 1;
  t.is((await errorOf(client.extract(PDF))).attempts, 2);
  t.is((await errorOf(client.extract(PDF, { retries: 3 }))).attempts, 4);
  t.is(service.received.length, 7);
});

test('a status that may be temporary is retried', async (t) => {
  for (const status of [408, 425, 429, 500, 502, 503, 504, 520, 529]) {
    await using service = await faultServer(answer(status, ''), png);
    t.deepEqual((await clientOf(service).render(PDF)).data, PNG, String(status));
    t.is(service.received.length, 2);
  }
});

test('another status is not retried', async (t) => {
  for (const status of [400, 401, 403, 404, 413, 415, 422, 501]) {
    await using service = await faultServer(answer(status, ''), png);
    const error = await errorOf(clientOf(service).render(PDF));
    t.like(error, { code: 'ERR_PDF_HTTP', response: { status }, attempts: 1 });
    t.is(service.received.length, 1);
  }
});

test('a redirect is not followed: another host receives neither the document nor the key', async (t) => {
  await using elsewhere = await faultServer(json(TREE));
  for (const location of [`${elsewhere.origin}/extract`, '/v2/extract']) {
    for (const status of [300, 301, 302, 303, 304, 307, 308]) {
      await using service = await faultServer(answer(status, '', { location }));
      t.like(await errorOf(clientOf(service, { apiKey: 'sesame' }).extract(PDF)), {
        code: 'ERR_PDF_HTTP',
        response: { status, headers: { location } },
        attempts: 1,
        message: `The PDF service answered ${service.origin}/extract with ${status}, a redirect, which is not followed. Set baseUrl to the address of the service itself.`,
      });
      t.is(service.received.length, 1);
    }
  }
  t.is(elsewhere.received.length, 0);
});

test('a refused connection is retried until the service listens', async (t) => {
  const port = await freePort();
  const server = createServer();
  const hooks: PdfHooks = {
    onRetry({ error, attempt }) {
      t.is(error.code, 'ERR_PDF_CONNECTION');
      if (attempt === 2)
        server.on('request', (_request, response) => response.end(JSON.stringify(TREE))).listen(port);
    },
  };
  t.teardown(() => server.close());
  const options = { hooks, retries: 20, maxRetryDelay: '50 ms' } as const;
  t.deepEqual(await clientOf({ origin: `http://127.0.0.1:${port}` }, options).extract(PDF), TREE);
});

test('a connection refused by all attempts: every form of input is retried', async (t) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  for (const input of [PDF, new Blob([PDF]), import.meta.filename, 'https://pdf.example/a.pdf']) {
    t.like(await errorOf(clientOf({ origin }).extract(input)), {
      code: 'ERR_PDF_CONNECTION',
      cause: { code: 'ECONNREFUSED' },
      attempts: 3,
      message: `The connection to the PDF service at ${origin} failed: connect ECONNREFUSED 127.0.0.1:${port}. Check that the service is running there.`,
    });
  }
});

test('an unknown host is retried', async (t) => {
  const error = await errorOf(clientOf({ origin: 'http://pdf.invalid' }).extract(PDF));
  t.like(error, { code: 'ERR_PDF_CONNECTION', attempts: 3 });
  t.regex(String((error.cause as { code?: string }).code), /^(ENOTFOUND|EAI_AGAIN)$/);
});

function cutImage(headers: Record<string, string>): Reply {
  return (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png', ...headers });
    response.write(PNG.subarray(0, 10), () => request.socket.destroy());
  };
}

for (const [when, reset] of Object.entries<Reply>({
  'before the response': (request) => request.socket.destroy(),
  'during the upload': (request) => request.once('data', () => request.socket.destroy()),
  'during a response with a length': cutImage({ 'content-length': '1000' }),
  'during a chunked response': cutImage({}),
})) {
  test(`a connection closed ${when} is retried`, async (t) => {
    const large = new Uint8Array(5_000_000);
    await using service = await faultServer(reset, reset, png, reset);
    t.deepEqual((await clientOf(service).render(large)).data, PNG);
    t.is(service.received.length, 3);

    const error = await errorOf(clientOf(service).render(large));
    t.like(error, { code: 'ERR_PDF_CONNECTION', attempts: 3 });
    const { code } = error.cause as { code?: string };
    t.regex(String(code), /^(ECONNRESET|EPIPE|ERR_HTTP_CONTENT_LENGTH_MISMATCH)$/);
    t.is(service.received.length, 6);
  });
}

test('a response before the document is read is received', async (t) => {
  await using service = await faultServer((request, response) => {
    request.pause();
    response.writeHead(413).end('{"error":"too large"}');
  });
  const error = await errorOf(clientOf(service).extract(new Uint8Array(20_000_000)));
  t.like(error, { code: 'ERR_PDF_HTTP', response: { status: 413 }, attempts: 1 });
});

test('delays double up to the maximum, each reduced by at most half', async (t) => {
  await using service = await faultServer(unavailable);
  const delays: number[] = [];
  const hooks: PdfHooks = { onRetry: ({ delay }) => delays.push(delay * 1000) };
  const options = { hooks, retries: 5, retryDelay: '16 ms', maxRetryDelay: '40 ms' } as const;
  await errorOf(clientOf(service, options).extract(PDF));
  t.is(delays.length, 5);
  for (const [index, most] of [16, 32, 40, 40, 40].entries()) {
    t.true(delays[index]! <= most && delays[index]! >= most / 2, `${index}: ${delays[index]}`);
  }
});

test('Retry-After is respected, in seconds or as a date', async (t) => {
  for (const value of ['5', new Date(Date.now() + 20_000).toUTCString()]) {
    await using service = await faultServer(answer(503, '', { 'retry-after': value }), json(TREE));
    const gone = new AbortController();
    const hooks: PdfHooks = {
      onRetry({ delay }) {
        t.true(delay > 2 && delay <= 20, String(delay));
        gone.abort();
      },
    };
    const call = clientOf(service, { hooks }).extract(PDF, { signal: gone.signal });
    await t.throwsAsync(call, { name: 'AbortError' });
  }
});

test('a Retry-After longer than maxRetryDelay ends the call at once', async (t) => {
  await using service = await faultServer(answer(429, '', { 'retry-after': '3600' }));
  const error = await errorOf(clientOf(service).extract(PDF));
  t.like(error, { attempts: 1, response: { headers: { 'retry-after': '3600' } } });
  t.is(service.received.length, 1);
});

test('an invalid Retry-After is ignored', async (t) => {
  for (const value of ['soon', '-5', '', '1.5', new Date(0).toUTCString()]) {
    await using service = await faultServer(answer(503, '', { 'retry-after': value }), json(TREE));
    t.deepEqual(await clientOf(service).extract(PDF), TREE);
  }
});

test('a stream is sent once, without retries', async (t) => {
  await using service = await faultServer(unavailable);
  const error = await errorOf(clientOf(service).extract({ stream: new Blob([PDF]).stream() }));
  t.like(error, { code: 'ERR_PDF_HTTP', attempts: 1 });
  t.is(service.received.length, 1);
});
