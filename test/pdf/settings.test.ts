import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

import test from 'ava';
import { ConfigError, GatehouseError, PdfClient, PdfError } from 'koa-gatehouse/pdf';
import type { PdfClientOptions } from 'koa-gatehouse/pdf';

import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, json, png } from './fault-server.ts';

test.serial(
  'baseUrl is the option, else PDF_BASE_URL, else the address of the local example service',
  (t) => {
    delete process.env['PDF_BASE_URL'];
    t.like(new PdfClient(), { configured: false, baseUrl: 'http://127.0.0.1:7330' });
    process.env['PDF_BASE_URL'] = '';
    t.like(new PdfClient(), { configured: false, baseUrl: 'http://127.0.0.1:7330' });
    process.env['PDF_BASE_URL'] = 'https://pdf.example/';
    t.like(new PdfClient(), { configured: true, baseUrl: 'https://pdf.example' });
    t.like(new PdfClient({ baseUrl: 'http://other.example' }), {
      configured: true,
      baseUrl: 'http://other.example',
    });
    process.env['PDF_BASE_URL'] = 'pdf.example';
    t.throws(() => new PdfClient(), {
      instanceOf: ConfigError,
      message: 'PDF_BASE_URL: give an http or https URL, such as https://pdf.example',
    });
    delete process.env['PDF_BASE_URL'];
  },
);

test('a path in baseUrl is kept, with or without a final slash', async (t) => {
  await using service = await faultServer(json(TREE));
  for (const end of ['', '/', '//']) {
    const client = clientOf({ origin: `${service.origin}/pdf/v2${end}` });
    t.is(client.baseUrl, `${service.origin}/pdf/v2`);
    await client.extract(PDF);
    t.is(service.received.at(-1)!.url, '/pdf/v2/extract');
  }
  t.is(new PdfClient({ baseUrl: new URL('HTTPS://PDF.example:443/a') }).baseUrl, 'https://pdf.example/a');
});

test('by default, the timeout is 60 seconds, with two retries', (t) => {
  t.like(new PdfClient(), { timeout: 60, retries: 2 });
});

test('timeout and retries have setters that check the value', (t) => {
  const client = new PdfClient({ timeout: '5 seconds', retries: 0 });
  t.like(client, { timeout: 5, retries: 0 });
  client.timeout = '250 ms';
  t.is(client.timeout, '250 ms');
  client.timeout = '2 min';
  client.retries = 7;
  t.like(client, { timeout: 120, retries: 7 });
  for (const wrong of [0, -1, 1.5, NaN, Infinity, 3601, 60_000, '5', '0.5 ms', null, undefined]) {
    t.throws(() => (client.timeout = wrong as number), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message:
        "timeout: give seconds, or a number and a unit such as '30 seconds' or '500 ms'; more than 0, at most 1 hour",
    });
  }
  for (const wrong of [-1, 0.5, 101, NaN, '2', null, undefined]) {
    t.throws(() => (client.retries = wrong as number), {
      instanceOf: ConfigError,
      message: 'retries: give a whole number from 0 to 100',
    });
  }
  t.like(client, { timeout: 120, retries: 7 });
});

test('properties of the service are read-only', (t) => {
  const client = new PdfClient();
  for (const name of ['configured', 'baseUrl'] as const) {
    t.throws(() => Object.assign(client, { [name]: 'x' }), { instanceOf: TypeError });
  }
});

const WRONG: readonly [options: object, message: string][] = [
  [{ baseUrl: 'ftp://pdf.example' }, 'baseUrl: give an http or https URL, such as https://pdf.example'],
  [{ baseUrl: '/extract' }, 'baseUrl: give an http or https URL, such as https://pdf.example'],
  [{ baseUrl: '' }, 'baseUrl: give an http or https URL, such as https://pdf.example'],
  [{ baseUrl: 5 }, 'baseUrl: give an http or https URL, such as https://pdf.example'],
  [
    { baseUrl: 'https://a:b@pdf.example' },
    'baseUrl: leave the credentials out; the service takes an API key, see apiKey',
  ],
  [{ baseUrl: 'https://pdf.example/?v=2' }, 'baseUrl: leave out query and fragment'],
  [{ baseUrl: 'https://pdf.example/#top' }, 'baseUrl: leave out query and fragment'],
  [
    { timeout: 0 },
    "timeout: give seconds, or a number and a unit such as '30 seconds' or '500 ms'; more than 0, at most 1 hour",
  ],
  [{ retries: -1 }, 'retries: give a whole number from 0 to 100'],
  [
    { retryDelay: -1 },
    "retryDelay: give seconds, or a number and a unit such as '30 seconds' or '500 ms'; at most 1 hour",
  ],
  [
    { maxRetryDelay: '2 hours' },
    "maxRetryDelay: give seconds, or a number and a unit such as '30 seconds' or '500 ms'; at most 1 hour",
  ],
  [{ maxResponseBytes: 0 }, 'maxResponseBytes: give a whole number of at least 1'],
  [
    { headers: { Authorization: 'Bearer x' } },
    'headers.Authorization: leave it out: the client sets it itself; for authorization, see apiKey',
  ],
  [
    { headers: { 'content-length': '5' } },
    'headers.content-length: leave it out: the client sets it itself; for authorization, see apiKey',
  ],
  [
    { headers: { 'x-a': 'b\r\nx-c: d' } },
    'headers.x-a: give a header field that HTTP allows (RFC 9110 section 5)',
  ],
  [{ headers: { 'x a': 'b' } }, 'headers.x a: give a header field that HTTP allows (RFC 9110 section 5)'],
  [
    { headers: { 'x-a': undefined } },
    'headers.x-a: give a header field that HTTP allows (RFC 9110 section 5)',
  ],
  ...[null, 'X-Trace: a', ['X-Trace', 'a'], new Headers({ 'x-trace': 'a' })].map(
    (headers): [object, string] => [
      { headers },
      "headers: pass an object with the header fields, such as { 'X-Trace': 'a' }",
    ],
  ),
  [
    { url: 'https://pdf.example' },
    'url: there is no such option; the options are baseUrl, apiKey, timeout, retries, retryDelay, maxRetryDelay, maxResponseBytes, localFiles, headers, agent, hooks',
  ],
  ...[null, 0, 'false'].map((localFiles): [object, string] => [
    { localFiles },
    'localFiles: pass true or false',
  ]),
  ...[new Agent(), new HttpsAgent()].map((agent): [object, string] => [
    { agent },
    'agent: pass it by its protocol: { https: agent }, { http: agent } or both',
  ]),
  ...[null, 'proxy', []].map((agent): [object, string] => [
    { agent },
    'agent: pass an object with some of http, https',
  ]),
  [
    { agent: { http2: {} } },
    'agent.http2: there is no such option; did you mean http? The options are http, https',
  ],
  [{ agent: { http: {} } }, 'agent.http: pass an Agent of node:http, or leave it out'],
  [{ agent: { https: null } }, 'agent.https: pass an Agent of node:https, or leave it out'],
  [{ hooks: null }, 'hooks: pass an object with some of onRequest, onResponse, onRetry'],
  [
    { hooks: { onError() {} } },
    'hooks.onError: there is no such option; the options are onRequest, onResponse, onRetry',
  ],
  [{ hooks: { onRetry: true } }, 'hooks.onRetry: pass a function, or leave it out'],
];

for (const [options, message] of WRONG) {
  test(`ConfigError: ${JSON.stringify(options).slice(0, 80)} (${message}, ${WRONG.findIndex((one) => one[0] === options)})`, (t) => {
    t.throws(() => new PdfClient(options as PdfClientOptions), { instanceOf: ConfigError, message });
  });
}

test('the options of a call are checked', async (t) => {
  await using service = await faultServer(png);
  const client = clientOf(service);
  await t.throwsAsync(client.extract(PDF, { timeout: 0 }), { instanceOf: ConfigError });
  await t.throwsAsync(client.extract(PDF, { headers: { host: 'x' } }), { instanceOf: ConfigError });
  t.is(service.received.length, 0);
});

const COMMON = 'timeout, retries, maxResponseBytes, headers, signal, onUploadProgress, onDownloadProgress';

const WRONG_CALLS: readonly [
  call: 'extract' | 'render' | 'renderStream',
  options: unknown,
  message: string,
][] = [
  ['extract', { page: 1 }, `page: there is no such option; the options are ${COMMON}`],
  ['extract', { retryDelay: 1 }, `retryDelay: there is no such option; the options are ${COMMON}`],
  ['extract', null, `options: pass an object with some of ${COMMON}`],
  [
    'extract',
    { headers: null },
    "headers: pass an object with the header fields, such as { 'X-Trace': 'a' }",
  ],
  [
    'extract',
    { signal: new AbortController() },
    'signal: pass an AbortSignal, such as AbortSignal.timeout(30_000) or the signal of an AbortController',
  ],
  ['extract', { onUploadProgress: true }, 'onUploadProgress: pass a function, or leave it out'],
  ['extract', { onDownloadProgress: {} }, 'onDownloadProgress: pass a function, or leave it out'],
  [
    'render',
    { pages: 1 },
    `pages: there is no such option; did you mean page? The options are ${COMMON}, page, format, quality, width`,
  ],
  [
    'renderStream',
    { pages: 1 },
    `pages: there is no such option; did you mean page? The options are ${COMMON}, page, format, quality, width`,
  ],
  ['render', null, `options: pass an object with some of ${COMMON}, page, format, quality, width`],
];

for (const [call, options, message] of WRONG_CALLS) {
  test(`${call} refuses ${JSON.stringify(options)} before any request: ${message.slice(0, 30)}`, async (t) => {
    await using service = await faultServer(png);
    const client = clientOf(service);
    await t.throwsAsync(async () => Reflect.apply(client[call], client, [PDF, options]), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message,
    });
    t.is(service.received.length, 0);
  });
}

const PARAMETERS: readonly [options: object, message: string][] = [
  [{ page: 0 }, 'The page of an image must be a whole number of at least 1.'],
  [{ page: 1.5 }, 'The page of an image must be a whole number of at least 1.'],
  [{ page: '1' }, 'The page of an image must be a whole number of at least 1.'],
  [{ quality: -3 }, 'The quality of an image must be a whole number of at least 1.'],
  [{ width: NaN }, 'The width of an image must be a whole number of at least 1.'],
  [{ format: 'gif' }, "The format of an image must be 'png' or 'jpg'."],
];

for (const [options, message] of PARAMETERS) {
  for (const call of ['render', 'renderStream'] as const) {
    test(`${call} with ${JSON.stringify(options)} is an error before any request`, async (t) => {
      await using service = await faultServer(png);
      const error = await errorOf(clientOf(service)[call](PDF, options));
      t.is(error.code, 'ERR_PDF_INPUT');
      t.is(error.message, message);
      t.is(service.received.length, 0);
    });
  }
}

test('the given parameters of an image are sent in the query', async (t) => {
  await using service = await faultServer(png);
  const client = clientOf(service);
  await client.render(PDF);
  await client.render(PDF, { page: 3, width: 800 });
  await errorOf(client.render(PDF, { page: 1, format: 'jpg', quality: 70, width: 20 }));
  t.deepEqual(
    service.received.map(({ url }) => url),
    ['/render', '/render?page=3&width=800', '/render?page=1&quality=70&width=20&format=jpg'],
  );
});

test('header fields of the client and of the call are sent; those of the call take precedence', async (t) => {
  await using service = await faultServer(json(TREE));
  const client = clientOf(service, { headers: { 'User-Agent': 'portal/1', 'X-Trace': 'a' } });
  await client.extract(PDF, { headers: { 'x-trace': 'b' } });
  t.like(service.received[0]!.headers, { 'user-agent': 'portal/1', 'x-trace': 'b' });
});

test('requests use the given agent', async (t) => {
  await using service = await faultServer(png);
  const http = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => http.destroy());
  const client = clientOf(service, { agent: { http } });
  const pictures = await Promise.all(Array.from({ length: 4 }, () => client.render(PDF)));
  for (const { data } of pictures) t.deepEqual(data, PNG);
  t.is(Object.values(http.freeSockets).flat().length, 1);
});

test('all errors are PdfErrors of the same shape', async (t) => {
  await using service = await faultServer(answer(404, 'not here'));
  const error = await errorOf(clientOf(service).extract(PDF));
  t.true(error instanceof PdfError && error instanceof GatehouseError && error instanceof Error);
  t.is(error.name, 'PdfError');
  t.like(error, { code: 'ERR_PDF_HTTP', status: 502, attempts: 1 });
  t.like(error.answer, { status: 404, body: 'not here' });
});
