import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

import test from '../../harness/test.ts';
import type { Browser, Page } from 'playwright-core';

import { Browsers, NO_NETWORK } from '../../../lib/html-pdf/browser.ts';
import { openPage, setContent } from '../../../lib/html-pdf/load.ts';
import { readConverterSettings } from '../../../lib/html-pdf/options.ts';
import { launchChromium } from '../../harness/chromium.ts';
import { serve } from '../../harness/serve.ts';
import { shared } from '../../harness/shared.ts';
import { browserTest } from './browser-test.ts';
import type { Asset } from '../../../lib/html-pdf/options.ts';

/**
 * Each layer that separates a document from the network, with all others switched off. Where one is missing, the others hide it from
 * the tests of untrusted documents.
 */
const inBrowser = browserTest().serial;
const isSkipped = inBrowser !== test.serial;
const sandbox = process.getuid?.() !== 0;
const settings = isSkipped ? undefined! : readConverterSettings({ sandbox });

/** A browser with these arguments instead of the converter's. */
const launch = async (args: readonly string[] = [], { executablePath } = settings): Promise<Browser> =>
  launchChromium({ args, executablePath, sandbox });

const started = shared(async (stack) => {
  const bare = isSkipped ? undefined! : await launch();
  const server = await serve(() => (request, response) => {
    hits.push(request.url ?? '');
    response.setHeader('content-type', request.url?.endsWith('.js') ? 'text/javascript' : 'text/html');
    response.end('internal answer');
  });
  const { origin } = server;
  stack.defer(async () => {
    await bare?.close();
    await server[Symbol.asyncDispose]();
  });
  const PAGE = `${origin}/page`;
  return { bare, origin, PAGE };
});

const hits: string[] = [];

test.beforeEach(() => {
  hits.length = 0;
});

const SUBRESOURCES =
  '<img src="/image"><link rel="stylesheet" href="/sheet"><iframe src="/frame"></iframe><object data="/object"></object>';

/** Shows HTML at an address of the server, without a policy. */
async function show(page: Page, html: string, url?: string): Promise<void> {
  const { PAGE } = await started();
  await page.route(url ?? PAGE, async (route) => route.fulfill({ contentType: 'text/html', body: html }));
  await page.goto(url ?? PAGE);
}

inBrowser('JavaScript is off', async (t) => {
  const { bare } = await started();
  const html = `<title>off</title><body onload="document.title = 'load'"><svg onload="document.title = 'svg'"/>
    <script>document.title = 'script'</script><iframe src="javascript:parent.document.title = 'url'"></iframe>`;
  await using context = await bare.newContext();
  const scripted = await context.newPage();
  await show(scripted, html);
  t.not(await scripted.title(), 'off', 'the document does run scripts elsewhere');
  await using opened = (await openPage(bare, undefined)).context;
  const page = opened.pages()[0]!;
  await show(page, html);
  t.is(await page.title(), 'off');
});

inBrowser('requests are intercepted', async (t) => {
  const { bare, origin } = await started();
  await using context = await bare.newContext({ javaScriptEnabled: false });
  await show(await context.newPage(), SUBRESOURCES);
  t.deepEqual(hits.toSorted(), ['/frame', '/image', '/object', '/sheet'], 'they are sent elsewhere');
  hits.length = 0;
  await using opened = (await openPage(bare, undefined)).context;
  await opened.setOffline(false);
  const page = opened.pages()[0]!;
  await show(page, SUBRESOURCES);
  await t.throwsAsync(page.goto(`${origin}/navigation`));
  t.deepEqual(hits, []);
});

inBrowser('a page is offline', async (t) => {
  const { bare, origin } = await started();
  await using opened = (await openPage(bare, undefined)).context;
  await opened.unrouteAll();
  const page = opened.pages()[0]!;
  await show(page, SUBRESOURCES);
  await t.throwsAsync(page.goto(`${origin}/navigation`), { message: /ERR_INTERNET_DISCONNECTED/ });
  t.deepEqual(hits, []);
});

async function registerWorker(page: Page): Promise<void> {
  await show(page, '');
  await page.evaluate("navigator.serviceWorker.register('/worker.js').catch(() => {})");
}

inBrowser('no service worker is registered, whose requests would not be intercepted', async (t) => {
  const { bare } = await started();
  await using context = await bare.newContext();
  await registerWorker(await context.newPage());
  t.deepEqual(hits, ['/worker.js'], 'one is registered elsewhere');
  hits.length = 0;
  await using opened = (await openPage(bare, undefined)).context;
  await opened.unrouteAll();
  await opened.setOffline(false);
  await registerWorker(opened.pages()[0]!);
  t.deepEqual(hits, []);
});

/** Opens the address of the server and gathers WebRTC candidates, for which a browser asks a STUN server by UDP. */
async function reach(browser: Browser): Promise<{ readonly isReached: boolean; readonly byUdp: boolean }> {
  const { origin } = await started();
  hits.length = 0;
  const stun = createSocket('udp4').bind(0, '127.0.0.1');
  await once(stun, 'listening');
  const asked = once(stun, 'message').then(() => true);
  await using context = await browser.newContext();
  await (await context.newPage()).goto(`${origin}/navigation`).catch(() => {});
  // The last candidate is null, when all are known.
  const gathered = (await context.newPage()).evaluate<boolean>(`(async () => {
    const connection = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${stun.address().port}' }] });
    connection.createDataChannel('');
    const isGathered = new Promise((done) => {
      connection.onicecandidate = ({ candidate }) => candidate ?? done(false);
    });
    await connection.setLocalDescription(await connection.createOffer());
    return isGathered;
  })()`);
  // It is not answered, so that the browser would ask for half a minute.
  const byUdp = await Promise.race([asked, gathered]);
  stun.close();
  return { isReached: hits.length > 0, byUdp };
}

const installed = isSkipped ? [] : [settings.executablePath, '/usr/bin/chromium'].filter(existsSync);
for (const executablePath of new Set(installed)) {
  inBrowser(`no page of ${executablePath} has a network`, async (t) => {
    await using elsewhere = await launch([], { ...settings, executablePath });
    t.deepEqual(await reach(elsewhere), { isReached: true, byUdp: true }, 'elsewhere it has');
    const browsers = new Browsers({ ...settings, executablePath });
    try {
      using document = await browsers.begin();
      t.deepEqual(await reach(document.browser), { isReached: false, byUdp: false });
    } finally {
      await browsers.close();
    }
  });
}

inBrowser(
  'of the flags that take the network away, neither the proxy nor the names need the other',
  async (t) => {
    for (const option of ['--proxy', '--host']) {
      const flags = NO_NETWORK.filter((flag) => flag.startsWith(option));
      await using browser = await launch(flags);
      t.false((await reach(browser)).isReached, flags.join(' '));
    }
  },
);

/** Which requests of a document pass its policy. All of them are answered. */
async function passing(html: string): Promise<string[]> {
  const { bare } = await started();
  const asked: string[] = [];
  const empty = await openPage(bare, undefined);
  await using context = empty.context;
  await context.route('**/*', async (route) => {
    asked.push(route.request().url());
    await route.fulfill({ contentType: 'text/css', body: '' });
  });
  await setContent(empty, html);
  return asked;
}

inBrowser(
  'the policy allows images of the host’s assets, and nothing else that has an address',
  async (t) => {
    const { origin } = await started();
    const html = `<base href="${origin}/base/"><img src="http://document.invalid/logo.png"><img src="relative.png">
    <img src="${origin}/image"><style>@import url("${origin}/import"); p { background: url("${origin}/background") }
    @font-face { font-family: F; src: url("${origin}/font") } p { font-family: F }</style><link rel="stylesheet" href="${origin}/sheet">
    <iframe src="${origin}/frame"></iframe><object data="${origin}/object"></object><embed src="${origin}/embed">
    <video src="${origin}/video" poster="${origin}/poster"></video><audio src="${origin}/audio"></audio>
    <link rel="manifest" href="${origin}/manifest"><link rel="prefetch" href="${origin}/prefetch">
    <svg><use href="${origin}/use#a"/><image href="${origin}/svg"/></svg><p>Text`;
    const logo = 'http://document.invalid/logo.png';
    // With a base that the policy refuses, the relative image is one of the document's address.
    const asked = await passing(html);
    t.deepEqual(asked.toSorted(), [logo, 'http://document.invalid/relative.png']);
  },
);

inBrowser('assets are asked for images only, and give images only', async (t) => {
  const { bare } = await started();
  const asked: string[] = [];
  const data = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  const logo: Asset = { data, type: 'image/svg+xml' };
  const page: Asset = { data: Buffer.from('<p>Inner'), type: 'text/html' as 'image/png' };
  const empty = await openPage(bare, (path) => {
    asked.push(path);
    return path.endsWith('.svg') ? logo : page;
  });
  await using context = empty.context;
  const answered: string[] = [];
  context.on('response', (response) => answered.push(new URL(response.url()).pathname));
  await show(
    empty.page,
    `<img src="logo.svg"><img src="page.html"><iframe src="frame.svg"></iframe><iframe src="frame.html"></iframe>
    <object data="object.svg"></object><embed src="embed.svg"><link rel="stylesheet" href="style.svg">
    <video src="video.svg"></video>`,
    'http://document.invalid/',
  );
  // The browser may ask again for an image that it could not show.
  t.deepEqual([...new Set(asked)].toSorted(), ['logo.svg', 'page.html']);
  t.deepEqual(answered.toSorted(), ['/', '/logo.svg']);
});
