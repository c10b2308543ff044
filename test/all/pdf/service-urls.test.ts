import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import test from '../../harness/test.ts';
import { PdfClient } from 'koa-gatehouse/pdf';

import { isPublicAddress } from '../../../examples/pdf-service/public-address.ts';
import { startPdfService } from '../../../examples/pdf-service/service.ts';
import type { PdfService } from '../../../examples/pdf-service/service.ts';
import { postJson } from '../../harness/requests.ts';
import { TLS } from '../../harness/public-server.ts';
import { serve } from '../../harness/serve.ts';
import { shared } from '../../harness/shared.ts';
import { errorOf } from './clients.ts';
import { makePdf } from './make-pdf.ts';

const started = shared(async (stack) => {
  const pdf = await makePdf();
  const host = await serve(
    () =>
      ({ url }, response) => {
        if (url === '/a.pdf') response.end(pdf);
        else if (url === '/large.pdf') response.end(Buffer.alloc(2_000_000));
        else if (url === '/text.pdf') response.end('Hello');
        else if (url === '/moved.pdf') response.writeHead(302, { location: '/elsewhere.pdf' }).end();
        else if (url === '/slow.pdf') response.write('%PDF');
        else if (url === '/cut.pdf')
          response.writeHead(200, { 'content-length': '999' }).write('%', () => response.destroy());
        else {
          elsewhere += Number(url === '/elsewhere.pdf');
          response.writeHead(404).end();
        }
      },
    { tls: TLS },
  );
  const any = await start('any');
  const open = await start('public');
  stack.defer(async () => {
    await Promise.all([any.stop(), open.stop(), host[Symbol.asyncDispose]()]);
  });
  return { host, any, open };
});

let elsewhere = 0;

setDefaultCACertificates([...getCACertificates(), TLS.cert]);

async function start(fetchUrls: 'any' | 'public'): Promise<PdfService> {
  return startPdfService({ port: 0, workers: 1, maxBytes: 1_000_000, fetchUrls });
}

test('a PDF is fetched by its URL', async (t) => {
  const { any, host } = await started();
  const client = new PdfClient({ baseUrl: any.url });
  const tree = await client.extract(`${host.origin}/a.pdf`);
  t.like(tree, { 'number of pages': 2, 'file name': 'document.pdf' });
  t.is((await client.render(new URL(`${host.origin}/a.pdf`), { width: 100 })).contentType, 'image/png');
});

test('a URL that cannot be fetched is a 4xx', async (t) => {
  const { any, host } = await started();
  for (const [path, status, code] of [
    ['/missing.pdf', 422, 'url_failed'],
    ['/moved.pdf', 422, 'url_failed'],
    ['/cut.pdf', 422, 'url_failed'],
    ['/text.pdf', 422, 'pdf_invalid'],
    ['/large.pdf', 413, 'too_large'],
  ] as const) {
    const error = await errorOf(new PdfClient({ baseUrl: any.url }).extract(host.origin + path));
    t.is(error.response?.status, status, path);
    t.is(JSON.parse(error.response?.body ?? '').error.code, code);
  }
  t.is(elsewhere, 0, 'a redirect was followed');
});

test('a server that does not finish its response times out', async (t) => {
  const { host } = await started();
  const shortTimeout = await startPdfService({ port: 0, jobTimeout: 100, fetchUrls: 'any' });
  t.teardown(() => shortTimeout.stop());
  const error = await errorOf(
    new PdfClient({ baseUrl: shortTimeout.url }).extract(`${host.origin}/slow.pdf`),
  );
  t.is(JSON.parse(error.response?.body ?? '').error.code, 'url_failed');
});

test('with fetchUrls: public, private addresses are refused in every notation', async (t) => {
  const { host, open } = await started();
  const { port } = new URL(host.origin);
  const client = new PdfClient({ baseUrl: open.url });
  for (const name of '127.0.0.1 localhost 2130706433 0x7f.1 0 [::1] [::ffff:127.0.0.1] [::]'.split(' ')) {
    const error = await errorOf(client.extract(`https://${name}:${port}/a.pdf`));
    t.is(error.response?.status, 400, name);
    t.is(JSON.parse(error.response?.body ?? '').error.code, 'url_private', name);
  }
});

test('invalid URLs are 4xx', async (t) => {
  const { any } = await started();
  for (const url of [
    'http://127.0.0.1/a.pdf',
    'file:///etc/passwd',
    'https://a:b@example.com/',
    '',
    5,
    ['x'],
  ]) {
    const answer = await postJson(`${any.url}/extract`, { url });
    t.like(answer, { status: 400, body: { error: { code: 'url_invalid' } } });
  }
  for (const body of ['[]', '{}']) t.is((await postJson(`${any.url}/extract`, body)).status, 400);
});

const PUBLIC = '8.8.8.8 93.184.216.34 172.32.0.1 2606:4700::1111 2a00:1450::1';
const PRIVATE =
  '0.0.0.0 10.1.2.3 100.64.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 198.18.0.1 203.0.113.5 ' +
  '224.0.0.1 255.255.255.255 :: ::1 ::ffff:8.8.8.8 64:ff9b::a00:1 fc00::1 fe80::1 ff02::1 2001:db8::1 2002:a00:1::';

test('isPublicAddress() is true for public addresses only', (t) => {
  for (const address of PUBLIC.split(' ')) t.true(isPublicAddress(address), address);
  for (const address of PRIVATE.split(' ')) t.false(isPublicAddress(address), address);
});
