import test from 'ava';
import { StorageError } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startDeveloperPlatform } from '../account/developers.ts';
import { REPORTS } from '../account/area.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';

/** A storage whose methods can be made to fail, and which records its calls. */
function breakable(): { storage: Storage; failingMethods: Set<string>; calls: Set<string> } {
  const failingMethods = new Set<string>();
  const calls = new Set<string>();
  const storage = around(memoryStorage(), async (name, call) => {
    calls.add(name);
    if (failingMethods.has(name) || failingMethods.has('*')) {
      throw new StorageError('connect ECONNREFUSED postgres://app:password@db/app');
    }
    return call();
  });
  return { storage, failingMethods, calls };
}

// Requests do not wait for these: they are written later, or not at all, or jobs call them.
const UNAWAITED = new Set([
  'audit.append',
  'clients.touchSecret',
  'consents.touch',
  'idempotency.finish',
  'keys.list',
  'keys.retire',
  'state',
]);

const AREA = '/developer/apps';
const hidden = (page: Page): Record<string, string> => page.hiddenFields();
const settings = (page: Page): Record<string, string> => ({
  ...page.hiddenFields(),
  name: 'Other',
  redirectUris: REPORTS.redirectUris[0],
});

test('if any storage call of any page or form fails, the response is a page with 503, never a 500', async (t) => {
  const { storage, failingMethods, calls } = breakable();
  await using platform = await startDeveloperPlatform({ storage });
  const { url } = platform;

  async function signIn(): Promise<Browser> {
    return platform.signInAs('dora');
  }
  async function appOfDora(): Promise<string> {
    return (await platform.registerFor('dora', REPORTS)).client.id;
  }
  async function connected(browser: Browser): Promise<string> {
    const app = await platform.registerFor('dora', REPORTS);
    t.is((await runCodeFlow(platform, app, { browser })).status, 200);
    return app.client.id;
  }
  const get =
    (path: (browser: Browser) => Promise<string>) =>
    async (browser: Browser): Promise<() => Promise<Page>> => {
      const address = url(await path(browser));
      return async () => browser.get(address);
    };
  const post =
    (path: (browser: Browser) => Promise<string>, fields: (page: Page) => Record<string, string>) =>
    async (browser: Browser): Promise<() => Promise<Page>> => {
      const address = url(await path(browser));
      const form = await browser.get(address);
      return async () => browser.post(address, new URLSearchParams(fields(form)));
    };
  const steps: Readonly<Record<string, (browser: Browser) => Promise<() => Promise<Page>>>> = {
    'GET sign-in': get(async () => '/oauth/login'),
    'GET logout': get(async () => '/oauth/logout'),
    'POST logout': post(async () => '/oauth/logout', hidden),
    'GET apps': get(async () => AREA),
    'GET new app': get(async () => `${AREA}/new`),
    'POST new app': post(
      async () => `${AREA}/new`,
      (page) => ({ ...page.hiddenFields(), name: 'Robot', place: 'none', grantType: 'client_credentials' }),
    ),
    'GET app': get(async () => `${AREA}/${await appOfDora()}`),
    'POST app': post(async () => `${AREA}/${await appOfDora()}`, settings),
    'GET secrets': get(async () => `${AREA}/${await appOfDora()}/secrets`),
    'POST secrets': post(async () => `${AREA}/${await appOfDora()}/secrets`, hidden),
    'GET activity': get(async () => `${AREA}/${await appOfDora()}/activity`),
    'POST disable': post(async () => `${AREA}/${await appOfDora()}/disable`, hidden),
    'POST delete': post(async () => `${AREA}/${await appOfDora()}/delete`, hidden),
    'GET connected apps': get(async () => '/account/apps'),
    'GET disconnect': get(async (browser) => `/account/apps/${await connected(browser)}/disconnect`),
    'POST disconnect': post(
      async (browser) => `/account/apps/${await connected(browser)}/disconnect`,
      hidden,
    ),
  };

  for (const [name, prepare] of Object.entries(steps)) {
    const first = await prepare(await signIn());
    calls.clear();
    const well = await first();
    t.true(well.status < 400, `${name}: ${well.status} ${well.text}`);
    const awaited = [...calls].filter((call) => !UNAWAITED.has(call));
    t.true(awaited.length > 0, name);

    for (const call of [...awaited, '*']) {
      const step = await prepare(await signIn());
      failingMethods.add(call);
      const page = await step();
      failingMethods.clear();
      const where = `${name}, without ${call}: ${page.status} ${page.text}`;
      t.is(page.status, 503, where);
      t.is(page.response.headers.get('retry-after'), '1', where);
      t.is(page.response.headers.get('content-type'), 'text/html; charset=utf-8', where);
      t.is(page.location, undefined, where);
      t.regex(page.text, /temporarily_unavailable/, where);
      t.false(page.html.includes('password@db'), where);
      // The same step again: after a partial write it must not be a 500 either.
      t.true((await step()).status < 500, where);
    }
  }
});

test('a login gets 503 while the storage fails, and the same form works afterwards', async (t) => {
  const { storage, failingMethods } = breakable();
  await using platform = await startDeveloperPlatform({ storage });
  const browser = new Browser();
  const form = await browser.get(platform.url('/oauth/login'));
  const fields = { ...form.hiddenFields(), login: 'dora@school.example', password: 'password of dora' };
  const submit = async (): Promise<Page> => browser.post(form.url, new URLSearchParams(fields));
  for (const call of ['sessions.insert', '*']) {
    failingMethods.add(call);
    const page = await submit();
    failingMethods.clear();
    t.is(page.status, 503, `${call}: ${page.text}`);
    t.is(page.response.headers.get('retry-after'), '1', call);
    t.is(page.location, undefined, call);
  }
  t.true((await submit()).status < 400);
});
