import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';

import test from '../../harness/test.ts';
import { gotenbergHtmlToPdf, HtmlToPdfError } from 'koa-gatehouse/html-pdf';
import { ConfigError } from 'koa-gatehouse';

import { errorOf } from '../pdf/clients.ts';
import { answer, faultServer } from '../pdf/fault-server.ts';
import type { Received, Reply } from '../pdf/fault-server.ts';
import type { GotenbergOptions } from '../../../lib/html-pdf/gotenberg.ts';

const PDF = Buffer.from('%PDF-1.4\n1 0 obj\nendobj\n%%EOF\n');
const pdf = answer(200, PDF, { 'content-type': 'application/pdf', 'gotenberg-trace': 'x' });

/** What Gotenberg would read: its files are the parts with a file name. */
async function formOf({ body, headers }: Received) {
  const type = headers['content-type'] ?? '';
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  const fields: Record<string, string> = {};
  const files: Record<string, string> = {};
  for (const [name, value] of form) {
    if (typeof value === 'string') fields[name] = value;
    else files[value.name] = await value.text();
  }
  return { fields, files };
}

function client(baseUrl: string, options: Partial<GotenbergOptions> = {}) {
  return gotenbergHtmlToPdf({ baseUrl, retryDelay: '1 ms', ...options });
}

test('a document is sent as Gotenberg’s form, with the size of the paper as it lies', async (t) => {
  await using service = await faultServer(pdf);
  await using converter = client(`${service.origin}/pdf/`);
  const bytes = await converter.convert('<h1>Änne</h1>', {
    format: 'A5',
    landscape: true,
    margin: { left: '2in' },
    header: '<b>Head</b>',
    footer: '<span class="pageNumber"></span>',
  });
  t.deepEqual(Buffer.from(bytes), PDF);
  const [received] = service.received;
  t.like(received, { method: 'POST', url: '/pdf/forms/chromium/convert/html' });
  t.is(received?.headers.accept, 'application/pdf');
  t.is(received?.headers['content-length'], String(received?.body.byteLength));
  t.is(received?.headers.authorization, undefined);
  const { fields, files } = await formOf(received!);
  t.deepEqual(fields, {
    paperWidth: '8.2677in',
    paperHeight: '5.8268in',
    marginTop: `${2 / 2.54}in`,
    marginRight: `${1 / 2.54}in`,
    marginBottom: `${2 / 2.54}in`,
    marginLeft: '2in',
    landscape: 'false',
    preferCssPageSize: 'false',
    printBackground: 'true',
    generateTaggedPdf: 'true',
    generateDocumentOutline: 'true',
  });
  t.deepEqual(Object.keys(files), ['index.html', 'header.html', 'footer.html']);
  t.is(
    files['index.html'],
    '<h1>Änne</h1><style>@page { size: 8.2677in 5.8268in !important; margin-left: 2in !important; }</style>',
  );
  t.regex(
    files['header.html']!,
    /^<!doctype html><html><head><\/head><body><div style="[^"]*font-size: 8pt"><b>Head<\/b>/,
  );
  t.regex(files['footer.html']!, /<span class="pageNumber"><\/span>/);
});

test('a busy service is tried again with the same form, as often as retries says', async (t) => {
  await using service = await faultServer(answer(503, 'Service Unavailable'), pdf);
  const tries: number[] = [];
  await using converter = client(service.origin, {
    hooks: { onRetry: ({ attempt }) => void tries.push(attempt) },
  });
  t.deepEqual(Buffer.from(await converter.convert('<p>Text')), PDF);
  t.deepEqual(tries, [1]);
  t.deepEqual(service.received[0]?.body, service.received[1]?.body);

  await using busy = await faultServer(answer(503, 'Service Unavailable'));
  const error = await errorOf(client(busy.origin, { retries: 1 }).convert(''));
  t.like(error, { code: 'ERR_PDF_HTTP', attempts: 2, response: { status: 503 }, status: 502 });
  // One that refuses a document is not.
  await using refusing = await faultServer(answer(400, 'Chromium failed to print the PDF'));
  t.like(await errorOf(client(refusing.origin).convert('')), {
    attempts: 1,
    message: `The PDF service answered ${refusing.origin}/forms/chromium/convert/html with 400: Chromium failed to print the PDF`,
  });
});

const cut: Reply = async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': PDF.byteLength });
  response.write(PDF.subarray(0, 9), () => response.destroy());
};

test('an answer that is cut is read again; a stream ends with the error', async (t) => {
  await using service = await faultServer(cut, pdf);
  t.deepEqual(Buffer.from(await client(service.origin).convert('')), PDF);
  await using cutting = await faultServer(cut);
  t.like(await errorOf(buffer(client(cutting.origin).stream(''))), {
    code: 'ERR_PDF_CONNECTION',
    status: 502,
  });
  t.is(cutting.received.length, 1);
  await using whole = await faultServer(pdf);
  t.deepEqual(await buffer(client(whole.origin).stream('<p>Text')), PDF);
});

test('what is no complete PDF is an error', async (t) => {
  for (const [reply, message] of [
    [answer(200, '<h1>Proxy</h1>', { 'content-type': 'text/html' }), /\(text\/html\) is no PDF\.$/],
    [answer(200, '%PDF-1.4', { 'content-type': 'application/pdf' }), /is a PDF without its end\.$/],
    [answer(200, '', { 'content-type': 'application/pdf' }), /is a PDF without its end\.$/],
    [
      answer(200, Buffer.alloc(99), { 'content-type': 'application/pdf' }),
      /is larger than 50 bytes, which maxResponseBytes allows\.$/,
    ],
  ] as const) {
    await using service = await faultServer(reply);
    const converter = client(service.origin, { maxResponseBytes: 50 });
    await t.throwsAsync(converter.convert(''), { code: 'ERR_PDF_RESPONSE', message });
    await t.throwsAsync(buffer(converter.stream('')), { code: 'ERR_PDF_RESPONSE', message });
  }
});

test('a slow service, and an aborted call', async (t) => {
  await using service = await faultServer(() => {});
  const converter = client(service.origin, { retries: 0, timeout: '1 second' });
  t.like(await errorOf(converter.convert('')), { code: 'ERR_PDF_TIMEOUT', status: 504 });
  t.regex((await errorOf(converter.convert('', { timeout: '50 ms' }))).message, /^For 50 ms/);
  await t.throwsAsync(converter.convert('', { signal: AbortSignal.abort(new Error('left')) }), {
    message: 'left',
  });
  const abort = new AbortController();
  await using waiting = await faultServer(() => abort.abort(new Error('left too')));
  await t.throwsAsync(client(waiting.origin).convert('', { signal: abort.signal }), { message: 'left too' });
});

test('it sends a user name and a password, which no error contains', async (t) => {
  await using service = await faultServer(answer(401, 'no'));
  const converter = client(service.origin, { basicAuth: { username: 'ann', password: 'pass:word' } });
  const error = await errorOf(converter.convert(''));
  const credentials = Buffer.from('ann:pass:word').toString('base64');
  t.is(service.received[0]?.headers.authorization, `Basic ${credentials}`);
  t.false(JSON.stringify([error, error.stack]).includes(credentials));
});

test('close() waits for every conversion and stream under way and refuses later calls', async (t) => {
  const requests = [0, 1].map(() => ({
    asked: Promise.withResolvers<void>(),
    released: Promise.withResolvers<void>(),
  }));
  const waiting = requests.values();
  await using service = await faultServer(async (request, response, received) => {
    const { asked, released } = waiting.next().value!;
    asked.resolve();
    await released.promise;
    return pdf(request, response, received);
  });
  const converter = client(service.origin);
  const running: Promise<Uint8Array>[] = [];
  for (const begin of [() => converter.convert(''), () => buffer(converter.stream(''))]) {
    running.push(begin());
    await requests[running.length - 1]!.asked.promise;
  }
  let isClosed = false;
  const closed = converter.close().finally(() => {
    isClosed = true;
  });
  for (const [index, conversion] of running.entries()) {
    await t.throwsAsync(converter.convert(''), {
      instanceOf: HtmlToPdfError,
      code: 'ERR_HTML_TO_PDF_CLOSED',
    });
    await setImmediate();
    t.false(isClosed);
    requests[index]!.released.resolve();
    t.deepEqual(Buffer.from(await conversion), PDF);
  }
  await closed;
});

test('close() does not wait for conversions that have failed, were aborted or whose reader has left', async (t) => {
  await using service = await faultServer(answer(400, 'no'));
  const failing = client(service.origin);
  await t.throwsAsync(failing.convert(''), { code: 'ERR_PDF_HTTP' });
  await failing.close();

  const abort = new AbortController();
  await using waiting = await faultServer(() => abort.abort(new Error('left')));
  const aborted = client(waiting.origin);
  await t.throwsAsync(aborted.convert('', { signal: abort.signal }), { message: 'left' });
  await aborted.close();

  await using whole = await faultServer(pdf);
  const read = client(whole.origin);
  for await (const piece of read.stream('')) {
    t.true(piece.byteLength > 0);
    break;
  }
  await read.close();
});

test('its options are checked at once', async (t) => {
  const baseUrl = 'http://gotenberg:3000';
  for (const [options, message] of [
    [{}, 'gotenbergHtmlToPdf({ baseUrl }): give an http or https URL, such as https://pdf.example'],
    [
      { baseUrl: 'gotenberg:3000' },
      'gotenbergHtmlToPdf({ baseUrl }): give an http or https URL, such as https://pdf.example',
    ],
    [{ baseUrl, retries: -1 }, 'gotenbergHtmlToPdf({ retries }): give a whole number from 0 to 100'],
    [{ baseUrl, maxHtmlBytes: 0 }, 'gotenbergHtmlToPdf({ maxHtmlBytes }): give a whole number of at least 1'],
    [
      { baseUrl, basicAuth: { username: 'a:b', password: '' } },
      'gotenbergHtmlToPdf({ basicAuth.username }): give a username without a colon (RFC 7617 section 2)',
    ],
    [
      { baseUrl, apiKey: 'x' },
      /^gotenbergHtmlToPdf\(\{ apiKey \}\): there is no such option; the options are baseUrl, /,
    ],
  ] as const) {
    t.throws(() => gotenbergHtmlToPdf(options as GotenbergOptions), { instanceOf: ConfigError, message });
  }
  const converter = client(baseUrl, { maxHtmlBytes: 3 });
  await t.throwsAsync(converter.convert('four'), { code: 'ERR_HTML_TO_PDF_INPUT' });
  await t.throwsAsync(converter.convert('', { format: 'b5' as 'a5' }), { instanceOf: ConfigError });
  await t.throwsAsync(converter.convert('', { scale: 'fit' }), {
    instanceOf: ConfigError,
    message:
      'convert({ scale }): Gotenberg does not measure documents; leave it out, or convert with createHtmlToPdf()',
  });
});
