import { createServer } from 'node:http';

import test from 'ava';
import type { PdfHooks } from 'koa-gatehouse/pdf';

import { freePort } from '../harness/free-port.ts';
import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, formOf, json, png } from './fault-server.ts';
import type { Reply } from './fault-server.ts';

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
  const error = await errorOf(clientOf(service).extract(PDF));
  t.is(service.received.length, 3);
  t.is(error.code, 'ERR_PDF_HTTP');
  t.is(error.attempts, 3);
  t.is(error.status, 502);
  t.is(error.message, `The PDF service answered ${service.origin}/extract with 503: try later`);
  t.is(error.answer?.status, 503);
  t.is(error.answer?.body, 'try later');
  t.is(error.answer?.headers['content-type'], 'text/plain');
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

for (const status of [408, 425, 429, 500, 502, 503, 504, 520, 529]) {
  test(`${status} is retried`, async (t) => {
    await using service = await faultServer(answer(status, ''), png);
    t.deepEqual((await clientOf(service).render(PDF)).data, PNG);
    t.is(service.received.length, 2);
  });
}

for (const status of [400, 401, 403, 404, 413, 415, 422, 501]) {
  test(`${status} is not retried`, async (t) => {
    await using service = await faultServer(answer(status, ''), png);
    const error = await errorOf(clientOf(service).render(PDF));
    t.is(error.code, 'ERR_PDF_HTTP');
    t.is(error.answer?.status, status);
    t.is(error.attempts, 1);
    t.is(service.received.length, 1);
  });
}

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
  const client = clientOf(
    { origin: `http://127.0.0.1:${port}` },
    { hooks, retries: 20, maxRetryDelay: '50 ms' },
  );
  t.deepEqual(await client.extract(PDF), TREE);
});

test('a connection refused by all attempts: every form of input is retried', async (t) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  for (const input of [PDF, new Blob([PDF]), import.meta.filename, 'https://pdf.example/a.pdf']) {
    const error = await errorOf(clientOf({ origin }).extract(input));
    t.is(error.code, 'ERR_PDF_CONNECTION');
    t.like(error.cause, { code: 'ECONNREFUSED' });
    t.is(error.attempts, 3);
    t.is(
      error.message,
      `The connection to the PDF service at ${origin} failed: connect ECONNREFUSED 127.0.0.1:${port}. Check that the service is running there.`,
    );
  }
});

test('an unknown host is retried', async (t) => {
  const error = await errorOf(clientOf({ origin: 'http://pdf.invalid' }).extract(PDF));
  t.is(error.code, 'ERR_PDF_CONNECTION');
  t.regex(String((error.cause as { code?: string }).code), /^(ENOTFOUND|EAI_AGAIN)$/);
  t.is(error.attempts, 3);
});

const resets: Record<string, Reply> = {
  'before the response': (request) => request.socket.destroy(),
  'during the upload': (request) => request.once('data', () => request.socket.destroy()),
  'during a response with a length': (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': '1000' });
    response.write(PNG.subarray(0, 10), () => request.socket.destroy());
  },
  'during a chunked response': (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'image/png' });
    response.write(PNG.subarray(0, 10), () => request.socket.destroy());
  },
};

for (const [when, reset] of Object.entries(resets)) {
  test(`a connection closed ${when} is retried`, async (t) => {
    const large = new Uint8Array(5_000_000);
    await using service = await faultServer(reset, reset, png);
    t.deepEqual((await clientOf(service).render(large)).data, PNG);
    t.is(service.received.length, 3);

    await using dead = await faultServer(reset);
    const error = await errorOf(clientOf(dead).render(large));
    t.is(error.code, 'ERR_PDF_CONNECTION');
    t.regex(
      String((error.cause as { code?: string }).code),
      /^(ECONNRESET|EPIPE|ERR_HTTP_CONTENT_LENGTH_MISMATCH)$/,
    );
    t.is(error.attempts, 3);
    t.is(dead.received.length, 3);
  });
}

test('a response before the document is read is received', async (t) => {
  await using service = await faultServer((request, response) => {
    request.pause();
    response.writeHead(413).end('{"error":"too large"}');
  });
  const error = await errorOf(clientOf(service).extract(new Uint8Array(20_000_000)));
  t.is(error.code, 'ERR_PDF_HTTP');
  t.is(error.answer?.status, 413);
  t.is(error.attempts, 1);
});

/** The delays that the hook received. */
async function delaysOf(service: { origin: string }, options: object): Promise<number[]> {
  const delays: number[] = [];
  const hooks: PdfHooks = { onRetry: ({ delay }) => delays.push(delay) };
  await errorOf(clientOf(service, { hooks, ...options }).extract(PDF));
  return delays;
}

test('delays double up to the maximum, each reduced by at most half', async (t) => {
  await using service = await faultServer(unavailable);
  const delays = await delaysOf(service, { retries: 5, retryDelay: '16 ms', maxRetryDelay: '40 ms' });
  t.is(delays.length, 5);
  for (const [index, most] of [16, 32, 40, 40, 40].entries()) {
    t.true(delays[index]! <= most && delays[index]! >= most / 2, `${index}: ${delays[index]}`);
  }
});

test('Retry-After is respected, in seconds or as a date', async (t) => {
  for (const value of ['5', new Date(Date.now() + 20_000).toUTCString()]) {
    await using service = await faultServer(answer(503, '', { 'retry-after': value }), json(TREE));
    const delays: number[] = [];
    const gone = new AbortController();
    const hooks: PdfHooks = {
      onRetry({ delay }) {
        delays.push(delay);
        gone.abort();
      },
    };
    await t.throwsAsync(clientOf(service, { hooks }).extract(PDF, { signal: gone.signal }), {
      name: 'AbortError',
    });
    t.true(delays[0]! > 2000 && delays[0]! <= 20_000, String(delays));
  }
});

test('a Retry-After longer than maxRetryDelay ends the call at once', async (t) => {
  await using service = await faultServer(answer(429, '', { 'retry-after': '3600' }));
  const error = await errorOf(clientOf(service).extract(PDF));
  t.is(service.received.length, 1);
  t.is(error.attempts, 1);
  t.is(error.answer?.headers['retry-after'], '3600');
});

for (const value of ['soon', '-5', '', '1.5', new Date(0).toUTCString()]) {
  test(`an invalid Retry-After, "${value}", is ignored`, async (t) => {
    await using service = await faultServer(answer(503, '', { 'retry-after': value }), json(TREE));
    t.deepEqual(await clientOf(service).extract(PDF), TREE);
    t.is(service.received.length, 2);
  });
}

test('a stream is sent once, without retries', async (t) => {
  await using service = await faultServer(unavailable);
  const error = await errorOf(clientOf(service).extract({ stream: new Blob([PDF]).stream() }));
  t.is(error.code, 'ERR_PDF_HTTP');
  t.is(error.attempts, 1);
  t.is(service.received.length, 1);
});
