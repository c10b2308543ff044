import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from '../../harness/test.ts';
import type { HtmlToPdf } from 'koa-gatehouse/html-pdf';

import { serve } from '../../harness/serve.ts';
import { shared } from '../../harness/shared.ts';
import { browserTest, converter } from './browser-test.ts';
import { pdfInfo, pdfText } from './poppler.ts';

const inBrowser = browserTest().serial;
process.env['DATABASE_PASSWORD'] = 'secret-of-the-host';
const LIMITS = { timeout: '20 seconds', maxMemory: 2 ** 30 } as const;
/** A document is loaded by a navigation when there are assets, and without one otherwise. */
const CONVERTERS: readonly (readonly [how: string, pdf: HtmlToPdf])[] =
  inBrowser === test.serial
    ? [
        ['without assets', converter(LIMITS)],
        ['with assets', converter({ ...LIMITS, assets: () => undefined })],
      ]
    : [];

const hits: string[] = [];
const started = shared(async (stack) => {
  const server = await serve(() => (request, response) => {
    hits.push(request.url ?? '');
    response.end('internal answer');
  });
  server.server.on('upgrade', (request, socket) => {
    hits.push(request.url ?? '');
    socket.destroy();
  });
  stack.defer(async () => {
    for (const [, pdf] of CONVERTERS) await pdf.close();
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const { origin } = server;
  const PROBES = {
    'a style sheet': `<link rel="stylesheet" href="${origin}/css">`,
    '@import': `<style>@import url("${origin}/import");</style>`,
    'a font': `<style>@font-face { font-family: f; src: url("${origin}/font") } p { font-family: f }</style>`,
    'an image': `<img src="${origin}/img" srcset="${origin}/srcset 2x"><picture><source srcset="${origin}/source"><img></picture>`,
    'a background': `<p style="background: url('${origin}/bg'); list-style: url('${origin}/list'); content: url('${origin}/content')">`,
    'a frame': `<iframe src="${origin}/iframe"></iframe><iframe srcdoc='<img src="${origin}/srcdoc">'></iframe>`,
    'a hint': `<link rel="prefetch" href="${origin}/prefetch"><link rel="preload" as="image" href="${origin}/preload"><link rel="preconnect" href="${origin}"><link rel="dns-prefetch" href="//localhost"><link rel="modulepreload" href="${origin}/module">`,
    fetch: `<script>fetch('${origin}/fetch'); new Image().src = '${origin}/script'; document.write('script ran')</script>`,
    'a beacon': `<script>navigator.sendBeacon('${origin}/beacon', 'x')</script><a ping="${origin}/ping" href="${origin}/link">Link</a>`,
    'a WebSocket': `<script>new WebSocket('${origin.replace('http', 'ws')}/ws')</script>`,
    'a refresh': `<meta http-equiv="refresh" content="0; url=${origin}/refresh">`,
    'a base address': `<base href="${origin}/base/"><img src="relative.png"><link rel="stylesheet" href="relative.css">`,
    'a policy of its own': `<meta http-equiv="Content-Security-Policy" content="img-src *; report-uri ${origin}/report"><img src="${origin}/policy">`,
    'embedded objects': `<object data="${origin}/object"></object><embed src="${origin}/embed"><applet code="${origin}/applet"></applet>`,
    media: `<video src="${origin}/video" poster="${origin}/poster" autoplay></video><audio src="${origin}/audio" autoplay></audio><track src="${origin}/track">`,
    SVG: `<svg><image href="${origin}/svg-image"/><use href="${origin}/svg-use#a"/><foreignObject><img src="${origin}/foreign"></foreignObject></svg><img src="data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg"><image href="${origin}/inner"/></svg>`)}">`,
    'a form': `<form action="${origin}/form"><input type="image" src="${origin}/input" autofocus></form>`,
    'a frame of a data URL': `<iframe src="data:text/html,${encodeURIComponent(`<img src="${origin}/data-frame"><script>parent.location='${origin}/parent'</script>`)}"></iframe>`,
    XSLT: `<?xml-stylesheet href="${origin}/xslt"?><style>p::after { content: url("${origin}/after") } @media print { p { background: url("${origin}/print") } }</style>`,
  } as const;
  return { origin, PROBES };
});

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-html-'));
const secret = join(folder, 'secret.txt');
writeFileSync(secret, 'content of the file');

for (const [how, pdf] of CONVERTERS) {
  inBrowser(`no document reaches the network, ${how}`, async (t) => {
    const { PROBES, origin } = await started();
    await Promise.all(
      Object.entries(PROBES).map(async ([what, html]) => {
        const text = await pdfText(await pdf.convert(`${html}<p>Text`));
        t.regex(text, /Text$/, what);
        t.notRegex(text, /internal answer|script ran/, what);
      }),
    );
    await pdf.convert('<p>Text', {
      header: `<img src="${origin}/header"><script>fetch("${origin}/script")</script>`,
    });
    t.deepEqual(hits, []);
  });

  inBrowser(`what no proxy and no interception sees is refused by the policy, ${how}`, async (t) => {
    const inner = 'data:text/html,<p>Inner';
    const sheet = `data:text/css;base64,${Buffer.from("@page { size: 4in 2in } p::after { content: 'styled' }").toString('base64')}`;
    const bytes =
      await pdf.convert(`<iframe src="${inner}"></iframe><object data="${inner}"></object><embed src="${inner}">
    <link rel="stylesheet" href="${sheet}"><style>@import url("${sheet}");</style><p>Text`);
    t.is(await pdfText(bytes), 'Text');
    t.true((await pdfInfo(bytes)).sizes[0]![0] < 600);
  });

  inBrowser(`a document that replaces itself is printed, ${how}`, async (t) => {
    for (const target of ['', '; url=about:blank', '; url=http://document.invalid/', '; url=about:srcdoc']) {
      for (const name of ['http-equiv', 'HTTP-EQUIV']) {
        const html = `<meta ${name}="&#114;efresh" content="0${target}"><p>Text`;
        t.is(await pdfText(await pdf.convert(html)), 'Text', target);
      }
    }
  });

  inBrowser(`no document reaches a file of the machine, ${how}`, async (t) => {
    const address = `file://${secret}`;
    const text = await pdfText(
      await pdf.convert(`<iframe src="${address}"></iframe><object data="${address}"></object><embed src="${address}">
      <iframe src="file://${folder}/"></iframe><iframe src="view-source:${address}"></iframe><iframe src="chrome://version"></iframe>
      <link rel="import" href="${address}"><style>@import url("${address}")</style><portal src="${address}"></portal>
      <meta http-equiv="refresh" content="0; url=${address}"><p>Text`),
    );
    t.is(text, 'Text');
  });

  inBrowser(`no document changes what another one gets, ${how}`, async (t) => {
    const frame = '<iframe src="http://document.invalid/"></iframe>';
    const first = `<meta http-equiv="set-cookie" content="a=first"><script>localStorage.a = 'first'</script><p id="first">First`;
    const [one, two] = await Promise.all([pdf.convert(`${first}${frame}`), pdf.convert(`<p>Second${frame}`)]);
    t.is(await pdfText(one), 'First');
    t.is(await pdfText(two), 'Second');
  });
}

inBrowser('Chromium gets no credentials of the host from the environment', async (t) => {
  await CONVERTERS[0]![1].convert('<p>Text');
  const browsers = childrenOf(process.pid);
  t.true(browsers.length > 0);
  for (const id of browsers) {
    const environment = readFileSync(`/proc/${id}/environ`, 'utf8');
    t.regex(environment, /(^|\0)PATH=/);
    t.notRegex(environment, /secret-of-the-host|DATABASE_PASSWORD/);
  }
});

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => {
      try {
        return readFileSync(`/proc/${id}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`);
      } catch {
        return false;
      }
    });
}

/** Each grows to a multiple of 2^20 of something. */
const BOMBS = {
  'uses of SVG': `<svg>${doubling((own, next) => `<g id="${own}">${`<use href="#${next}"/>`.repeat(16)}</g>`, 'g', 8)}<use href="#g0"/></svg>`,
  'variables of CSS': `<style>p { ${doubling((own, next) => `--${own}: ${`var(--${next}) `.repeat(16)};`, 'v', 8)} --v8: x; } p::after { content: var(--v0) }</style><p>Text`,
  'a huge page':
    '<div style="height: 1e9px; columns: 1000">x</div><div style="height: 30000000px">Text</div>',
} as const;

const ENDED = /^ERR_HTML_TO_PDF_(MEMORY|CRASHED)$/;

function doubling(step: (own: string, next: string) => string, prefix: string, depth: number): string {
  return Array.from({ length: depth }, (_, at) => step(`${prefix}${at}`, `${prefix}${at + 1}`)).join('');
}

function codeOf({ code }: { code: string }): string {
  return code;
}

for (const [what, html] of Object.entries(BOMBS)) {
  inBrowser(`${what} cost a bounded time, and other documents are served meanwhile and after`, async (t) => {
    const [, pdf] = CONVERTERS[0]!;
    const begun = performance.now();
    const bomb = pdf.convert(html, { timeout: '3 seconds' }).then(() => 'finished', codeOf);
    const other = pdf.convert('<p>Other').catch(codeOf);
    const outcome = await bomb;
    t.regex(outcome, /^(finished|ERR_HTML_TO_PDF_(TIMEOUT|MEMORY|CRASHED|BROWSER))$/);
    t.true(performance.now() - begun < 15_000);
    const served = await other;
    // With the browser that a bomb ends, the other document fails too.
    if (typeof served === 'string') t.regex(served, ENDED);
    const after = async (): Promise<string> => pdfText(await pdf.convert('<p>After'));
    const converted = after().catch(async ({ code }: { code: string }) => {
      // The memory of a bomb whose time was over, or that has finished, may be measured before its process has ended.
      t.regex(outcome, /^(finished|ERR_HTML_TO_PDF_TIMEOUT)$/);
      t.regex(code, ENDED);
      return after();
    });
    t.is(await converted, 'After');
  });
}
