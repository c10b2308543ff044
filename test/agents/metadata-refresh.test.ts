import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import type { Page } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import type { Platform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import {
  askConsent,
  CALLBACK,
  connect,
  refresh,
  requestOf,
  serveDocument,
  startWithDocuments,
} from './documents.ts';
import type { Site } from './documents.ts';

// In seconds: longer than a document without a lifetime of its own stays fresh.
const STALE = 3700;
// Longer than a failure is remembered.
const RETRY = 61;

async function open(platform: Platform, site: Site, parameters: Record<string, string> = {}): Promise<Page> {
  return askConsent(new Browser(), requestOf(platform, site.id, parameters));
}

function asksForConsent(t: ExecutionContext, page: Page): void {
  t.true(page.html.includes('Authorize</button>'), page.text);
}

function goneWith(status: number): Site['answer'] {
  return (_request, response) => response.writeHead(status).end();
}

async function startConnected(
  t: ExecutionContext,
): Promise<{ platform: Platform; site: Site; answer: Awaited<ReturnType<typeof connect>> }> {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t);
  return { platform, site, answer: await connect(platform, site.id) };
}

test.serial('a document is fetched again when it is no longer fresh, within limits', async (t) => {
  const fetches = async (headers: Record<string, string>, seconds: number): Promise<number> => {
    const platform = await startWithDocuments(t);
    const site = await serveDocument(t, {}, { headers });
    await open(platform, site);
    passTime(seconds);
    await open(platform, site);
    return site.requests.length;
  };
  t.is(await fetches({}, STALE - 200), 1);
  t.is(await fetches({}, STALE), 2);
  t.is(await fetches({ 'cache-control': 'max-age=10' }, 290), 1);
  t.is(await fetches({ 'cache-control': 'no-store' }, 310), 2);
  t.is(await fetches({ 'cache-control': 'max-age=99999999' }, 86_000), 1);
  t.is(await fetches({ 'cache-control': 'max-age=99999999' }, 86_500), 2);
});

test.serial('a site that is down ends nothing for an app that is stored', async (t) => {
  const { answer, platform, site } = await startConnected(t);
  const unknown = await serveDocument(t);
  for (const down of [500, 503, 302, 403, 429]) {
    passTime(STALE);
    site.answer = goneWith(down);
    const fetched = site.requests.length;
    asksForConsent(t, await open(platform, site, { redirect_uri: CALLBACK, prompt: 'consent' }));
    t.is(site.requests.length, fetched + 1);
    // Not again for the next.
    asksForConsent(t, await open(platform, site, { prompt: 'consent' }));
    t.is(site.requests.length, fetched + 1);
  }
  await site[Symbol.asyncDispose]();
  await unknown[Symbol.asyncDispose]();
  passTime(STALE);
  asksForConsent(t, await open(platform, site, { prompt: 'consent' }));
  t.is((await refresh(platform, site.id, answer)).status, 200);
  t.regex((await open(platform, unknown)).text, /client_source_unavailable/);
});

const GONE: ReadonlyArray<readonly [string, Site['answer'], Record<string, unknown>?]> = [
  ['404', goneWith(404)],
  ['410', goneWith(410)],
  ['a page instead', (_request, response) => response.setHeader('content-type', 'text/html').end('<p>')],
  ['no JSON', (_request, response) => response.setHeader('content-type', 'application/json').end('{')],
  [
    'too large',
    (_request, response) => response.setHeader('content-type', 'application/json').end(' '.repeat(6000)),
  ],
  ['another id', undefined, { client_id: 'https://other.example/a' }],
];

test.serial(
  'no new authorization without a valid document; refresh goes on, and the document can come back',
  async (t) => {
    const { platform, site, ...connected } = await startConnected(t);
    const { clients } = platform.auth;
    let { answer } = connected;
    const { document } = site;
    for (const [index, [title, gone, members]] of GONE.entries()) {
      site.answer = gone;
      site.document = { ...document, ...members };
      passTime(STALE);
      const page = await open(platform, site);
      t.is(page.status, 400, title);
      t.regex(page.text, /client_source_invalid/);
      t.deepEqual((await clients.find(site.id))?.redirectUris, []);
      answer = await refresh(platform, site.id, answer);
      t.is(answer.status, 200, title);
      t.is((await platform.api('/identity', answer.body.access_token)).status, 200);
      const events = await platform.auth.audit.list({ clientId: site.id, types: ['client_withdrawn'] });
      t.is(events.length, index + 1, title);
      t.like(events[0], { name: 'Agent' });

      // A node that has just started knows it too, when the site cannot be reached.
      site.answer = goneWith(503);
      passTime(RETRY);
      t.regex((await open(platform, site)).text, /client_source_/);

      site.answer = undefined;
      site.document = document;
      passTime(RETRY);
      t.is((await connect(platform, site.id)).status, 200, title);
      t.deepEqual((await clients.find(site.id))?.redirectUris, [CALLBACK]);
    }
  },
);

test.serial('a withdrawn app can be limited and disabled', async (t) => {
  const { platform, site } = await startConnected(t);
  site.answer = goneWith(410);
  passTime(STALE);
  await open(platform, site);
  await platform.auth.clients.update(site.id, { scopes: [] });
  await platform.auth.clients.disable(site.id);
  // Nothing is fetched for a disabled app.
  const fetched = site.requests.length;
  passTime(STALE);
  t.regex((await open(platform, site)).text, /invalid_client/);
  t.is(site.requests.length, fetched);
});

test.serial('a changed document is applied and recorded', async (t) => {
  const { platform, site } = await startConnected(t);
  const redirectUri = 'https://agent.example/moved';
  site.document = { ...site.document, client_name: 'Agent 2', redirect_uris: [redirectUri] };
  t.regex((await open(platform, site, { redirect_uri: redirectUri })).text, /invalid_redirect_uri/);
  await platform.auth.clients.update(site.id, { lifetimes: { accessToken: 60 } });
  passTime(STALE);
  const page = await open(platform, site, { redirect_uri: redirectUri, prompt: 'consent' });
  asksForConsent(t, page);
  t.regex(page.text, /Agent 2/);
  t.regex((await open(platform, site)).text, /invalid_redirect_uri/);
  like(t, await platform.auth.clients.find(site.id), {
    name: 'Agent 2',
    redirectUris: [redirectUri],
    scopes: ['schools:read'],
    lifetimes: { accessToken: 60 },
  });
  const [event] = await platform.auth.audit.list({ clientId: site.id, types: ['client_updated'] });
  like(t, event, { fields: ['name', 'redirectUris'] });
});

test.serial('a stored app follows its document each time that it is no longer fresh', async (t) => {
  const { answer, platform, site } = await startConnected(t);
  let next = answer;
  for (let count = 1; count < 4; count += 1) {
    // Within its lifetime it is not fetched again.
    passTime(STALE - 200);
    await open(platform, site);
    t.is(site.requests.length, 2 * count - 1);
    const name = `Agent ${count}`;
    site.document = { ...site.document, client_name: name };
    passTime(200);
    await open(platform, site);
    t.is(site.requests.length, 2 * count);
    t.like(await platform.auth.clients.find(site.id), { name });

    // The same for a refresh, which waits for no document.
    const fetched = site.requests.length;
    const later = `Agent ${count} again`;
    site.document = { ...site.document, client_name: later };
    passTime(STALE);
    next = await refresh(platform, site.id, next);
    t.is(next.status, 200);
    while ((await platform.auth.clients.find(site.id))?.name !== later) await new Promise(setImmediate);
    t.is(site.requests.length, fetched + 1);
  }
});

test.serial('the token endpoint waits for no document, and refreshes it once', async (t) => {
  const { answer, platform, site } = await startConnected(t);
  passTime(STALE);
  const arrived = Promise.withResolvers<void>();
  site.answer = () => arrived.resolve();
  const next = await refresh(platform, site.id, answer);
  t.is(next.status, 200);
  await arrived.promise;
  t.is((await refresh(platform, site.id, next)).status, 200);
  t.is(site.requests.length, 2);
});

test.serial(
  'a document that cannot be fetched is a line in the log once a minute, however many requests there are',
  async (t) => {
    const { platform, site } = await startConnected(t);
    passTime(STALE);
    site.answer = goneWith(503);
    const lines = () =>
      platform.logger.lines.filter(({ message }) => message === 'client metadata document not refreshed')
        .length;
    for (let count = 0; count < 5; count += 1)
      asksForConsent(t, await open(platform, site, { prompt: 'consent' }));
    t.is(lines(), 1);
    passTime(RETRY);
    for (let count = 0; count < 2; count += 1)
      asksForConsent(t, await open(platform, site, { prompt: 'consent' }));
    t.is(lines(), 2);
  },
);

test.serial('what an administrator changes while a document is applied stays', async (t) => {
  const { pause, storage } = pausable(memoryStorage());
  const platform = await startWithDocuments(t, {}, { storage });
  const site = await serveDocument(t);
  await connect(platform, site.id);
  passTime(STALE);
  site.document = { ...site.document, client_name: 'Renamed agent' };
  const applying = pause('clients.update');
  const opening = open(platform, site, { prompt: 'consent' });
  await applying.reached;
  const { clients } = platform.auth;
  await clients.update(site.id, { lifetimes: { accessToken: 60 } });
  applying.resume();
  await opening;
  t.like(await clients.find(site.id), { name: 'Renamed agent', lifetimes: { accessToken: 60 } });
});
