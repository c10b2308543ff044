import test from 'ava';
import { StorageError } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startDeveloperPlatform } from '../developer/developers.ts';
import { REPORTS } from '../developer/area.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { connect } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';

/** A storage of which methods can be taken away, and that remembers what it was asked for. */
function breakable(): { storage: Storage; broken: Set<string>; asked: Set<string> } {
  const broken = new Set<string>();
  const asked = new Set<string>();
  const storage = around(memoryStorage(), async (name, call) => {
    asked.add(name);
    if (broken.has(name) || broken.has('*')) {
      throw new StorageError('connect ECONNREFUSED postgres://app:password@db/app');
    }
    return call();
  });
  return { storage, broken, asked };
}

// What was asked for is done without these: they are written later, or not at all.
const UNAWAITED = new Set(['audit.append', 'clients.touchSecret', 'consents.touch', 'idempotency.finish']);

const AREA = '/developer/apps';
const hidden = (page: Page): Record<string, string> => page.hiddenFields();
const settings = (page: Page): Record<string, string> => ({
  ...page.hiddenFields(),
  name: 'Other',
  redirectUris: REPORTS.redirectUris[0],
});

test('every page and every form, at every call of the storage: a page with 503, and never a fault of the server', async (t) => {
  const { storage, broken, asked } = breakable();
  await using platform = await startDeveloperPlatform({ storage });
  const { url } = platform;

  async function signIn(): Promise<Browser> {
    return platform.enter('dora');
  }
  async function appOfDora(): Promise<string> {
    return (await platform.registerFor('dora', REPORTS)).client.id;
  }
  async function connected(browser: Browser): Promise<string> {
    const app = await platform.registerFor('dora', REPORTS);
    t.is((await connect(platform, app, { browser })).status, 200);
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
    asked.clear();
    const well = await first();
    t.true(well.status < 400, `${name}: ${well.status} ${well.text}`);
    const calls = [...asked].filter((call) => !UNAWAITED.has(call));
    t.true(calls.length > 0, name);

    for (const call of [...calls, '*']) {
      const step = await prepare(await signIn());
      broken.add(call);
      const page = await step();
      broken.clear();
      const where = `${name}, without ${call}: ${page.status} ${page.text}`;
      t.is(page.status, 503, where);
      t.is(page.response.headers.get('retry-after'), '1', where);
      t.is(page.response.headers.get('content-type'), 'text/html; charset=utf-8', where);
      t.is(page.location, undefined, where);
      t.regex(page.text, /temporarily_unavailable/, where);
      t.false(page.html.includes('password@db'), where);
      // The same step afterwards: whatever was done by then, it is no fault either.
      t.true((await step()).status < 500, where);
    }
  }
});

test('signing in: 503 while the storage is away, and afterwards the same form works', async (t) => {
  const { storage, broken } = breakable();
  await using platform = await startDeveloperPlatform({ storage });
  const browser = new Browser();
  const form = await browser.get(platform.url('/oauth/login'));
  const fields = { ...form.hiddenFields(), login: 'dora@school.example', password: 'password of dora' };
  const submit = async (): Promise<Page> => browser.post(form.url, new URLSearchParams(fields));
  for (const call of ['sessions.insert', '*']) {
    broken.add(call);
    const page = await submit();
    broken.clear();
    t.is(page.status, 503, `${call}: ${page.text}`);
    t.is(page.response.headers.get('retry-after'), '1', call);
    t.is(page.location, undefined, call);
  }
  t.true((await submit()).status < 400);
});
