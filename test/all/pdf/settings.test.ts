import { Agent } from 'node:http';

import test from '../../harness/test.ts';
import { PdfClient, PdfError } from 'koa-gatehouse/pdf';
import { ConfigError, GatehouseError } from 'koa-gatehouse';

import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE, answer, faultServer, json, png } from './fault-server.ts';
import type { PdfClientOptions } from '../../../lib/pdf/options.ts';

const URL_EXPECTED = 'give an http or https URL, such as https://pdf.example';

test.serial(
  'baseUrl is the option, else PDF_BASE_URL, else the address of the local example service',
  (t) => {
    delete process.env['PDF_BASE_URL'];
    t.like(new PdfClient(), { configured: false, baseUrl: 'http://127.0.0.1:7330' });
    process.env['PDF_BASE_URL'] = '';
    t.like(new PdfClient(), { configured: false, baseUrl: 'http://127.0.0.1:7330' });
    process.env['PDF_BASE_URL'] = 'https://pdf.example/';
    t.like(new PdfClient(), { configured: true, baseUrl: 'https://pdf.example' });
    const other = { baseUrl: 'http://other.example' };
    t.like(new PdfClient(other), { configured: true, ...other });
    process.env['PDF_BASE_URL'] = 'pdf.example';
    t.throws(() => new PdfClient(), { instanceOf: ConfigError, message: `PDF_BASE_URL: ${URL_EXPECTED}` });
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

const TIMEOUT =
  "timeout: give seconds, or a number and a unit such as '30 seconds' or '500 ms'; more than 0, at most 1 hour";
const RETRIES = 'retries: give a whole number from 0 to 100';

test('timeout and retries have defaults, and setters that check the value', (t) => {
  const client = new PdfClient();
  t.like(client, { timeout: 60, retries: 2 });
  t.like(new PdfClient({ timeout: '5 seconds', retries: 0 }), { timeout: 5, retries: 0 });
  client.timeout = '250 ms';
  t.is(client.timeout, '250 ms');
  client.timeout = '2 min';
  client.retries = 7;
  for (const wrong of [0, -1, 1.5, NaN, Infinity, 3601, '5', '0.5 ms', null, undefined])
    t.throws(() => (client.timeout = wrong as number), { code: 'ERR_CONFIG', message: TIMEOUT });
  for (const wrong of [-1, 0.5, 101, NaN, '2', null, undefined])
    t.throws(() => (client.retries = wrong as number), { code: 'ERR_CONFIG', message: RETRIES });
  t.like(client, { timeout: 120, retries: 7 });
});

const RESERVED = 'leave it out: the client sets it itself; for authorization, see apiKey';
const FIELD = 'give a header field that HTTP allows (RFC 9110 section 5)';
const FIELDS = "headers: pass an object with the header fields, such as { 'X-Trace': 'a' }";
const AGENTS = 'agent: pass an object with some of http, https';
const BY_PROTOCOL = 'agent: pass it by its protocol: { https: agent }, { http: agent } or both';
const NO_OPTION = 'there is no such option;';
const WAIT = "give seconds, or a number and a unit such as '30 seconds' or '500 ms'; at most 1 hour";

test('an invalid option of the client is a ConfigError that names it', (t) => {
  for (const [options, message] of [
    [{ baseUrl: 'ftp://pdf.example' }, `baseUrl: ${URL_EXPECTED}`],
    [{ baseUrl: '/extract' }, `baseUrl: ${URL_EXPECTED}`],
    [{ baseUrl: 5 }, `baseUrl: ${URL_EXPECTED}`],
    [
      { baseUrl: 'https://a:b@pdf.example' },
      'baseUrl: leave the credentials out; the service takes an API key, see apiKey',
    ],
    [{ baseUrl: 'https://pdf.example/?v=2' }, 'baseUrl: leave out query and fragment'],
    [{ baseUrl: 'https://pdf.example/#top' }, 'baseUrl: leave out query and fragment'],
    [{ timeout: 0 }, TIMEOUT],
    [{ retries: -1 }, RETRIES],
    [{ retryDelay: -1 }, `retryDelay: ${WAIT}`],
    [{ maxRetryDelay: '2 hours' }, `maxRetryDelay: ${WAIT}`],
    [{ maxResponseBytes: 0 }, 'maxResponseBytes: give a whole number of at least 1'],
    [{ headers: { Authorization: 'Bearer x' } }, `headers.Authorization: ${RESERVED}`],
    [{ headers: { 'content-length': '5' } }, `headers.content-length: ${RESERVED}`],
    [{ headers: { 'x-a': 'b\r\nx-c: d' } }, `headers.x-a: ${FIELD}`],
    [{ headers: { 'x a': 'b' } }, `headers.x a: ${FIELD}`],
    [{ headers: { 'x-a': undefined } }, `headers.x-a: ${FIELD}`],
    [{ headers: 'X-Trace: a' }, FIELDS],
    [{ headers: new Headers({ 'x-trace': 'a' }) }, FIELDS],
    [
      { url: 'https://pdf.example' },
      `url: ${NO_OPTION} the options are baseUrl, apiKey, timeout, retries, retryDelay, maxRetryDelay, maxResponseBytes, localFiles, headers, agent, hooks`,
    ],
    [{ localFiles: 0 }, 'localFiles: pass true or false'],
    [{ agent: new Agent() }, BY_PROTOCOL],
    [{ agent: 'proxy' }, AGENTS],
    [{ agent: { http2: {} } }, `agent.http2: ${NO_OPTION} did you mean http? The options are http, https`],
    [{ agent: { http: {} } }, 'agent.http: pass an Agent of node:http, or leave it out'],
    [{ agent: { https: null } }, 'agent.https: pass an Agent of node:https, or leave it out'],
    [{ hooks: null }, 'hooks: pass an object with some of onRequest, onResponse, onRetry'],
    [
      { hooks: { onError() {} } },
      `hooks.onError: ${NO_OPTION} the options are onRequest, onResponse, onRetry`,
    ],
    [{ hooks: { onRetry: true } }, 'hooks.onRetry: pass a function, or leave it out'],
  ] as const)
    t.throws(() => new PdfClient(options as PdfClientOptions), { instanceOf: ConfigError, message });
});

const COMMON = 'timeout, retries, maxResponseBytes, headers, signal, onUploadProgress, onDownloadProgress';
const NO_PAGES = `pages: ${NO_OPTION} did you mean page? The options are ${COMMON}, page, format, quality, width`;

test('an invalid option of a call is a ConfigError before any request', async (t) => {
  await using service = await faultServer(png);
  const client = clientOf(service);
  for (const [call, options, message] of [
    ['extract', { timeout: 0 }, TIMEOUT],
    ['extract', { headers: { host: 'x' } }, `headers.host: ${RESERVED}`],
    ['extract', { headers: null }, FIELDS],
    ['extract', { page: 1 }, `page: ${NO_OPTION} the options are ${COMMON}`],
    ['extract', null, `options: pass an object with some of ${COMMON}`],
    [
      'extract',
      { signal: new AbortController() },
      'signal: pass an AbortSignal, such as AbortSignal.timeout(30_000) or the signal of an AbortController',
    ],
    ['extract', { onUploadProgress: true }, 'onUploadProgress: pass a function, or leave it out'],
    ['extract', { onDownloadProgress: {} }, 'onDownloadProgress: pass a function, or leave it out'],
    ['render', { pages: 1 }, NO_PAGES],
    ['renderStream', { pages: 1 }, NO_PAGES],
    ['render', null, `options: pass an object with some of ${COMMON}, page, format, quality, width`],
  ] as const) {
    await t.throwsAsync(async () => Reflect.apply(client[call], client, [PDF, options]), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message,
    });
  }
  t.is(service.received.length, 0);
});

test('an invalid parameter of an image is an error before any request', async (t) => {
  await using service = await faultServer(png);
  for (const call of ['render', 'renderStream'] as const) {
    for (const [options, message] of [
      [{ page: 0 }, 'The page of an image must be a whole number of at least 1.'],
      [{ page: 1.5 }, 'The page of an image must be a whole number of at least 1.'],
      [{ page: '1' }, 'The page of an image must be a whole number of at least 1.'],
      [{ quality: -3 }, 'The quality of an image must be a whole number of at least 1.'],
      [{ width: NaN }, 'The width of an image must be a whole number of at least 1.'],
      [{ format: 'gif' }, "The format of an image must be 'png' or 'jpg'."],
    ] as const)
      t.like(await errorOf(clientOf(service)[call](PDF, options as object)), {
        code: 'ERR_PDF_INPUT',
        message,
      });
  }
  t.is(service.received.length, 0);
});

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
  t.like(error, { name: 'PdfError', code: 'ERR_PDF_HTTP', status: 502, attempts: 1 });
});
