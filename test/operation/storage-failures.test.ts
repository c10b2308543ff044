import test from '../harness/test.ts';

import { startDeveloperPlatform } from '../developer/developers.ts';
import { REPORTS } from '../developer/area.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { around, breakable } from '../harness/storage.ts';
import type { BreakableStorage } from '../harness/storage.ts';

/** A storage whose methods can be made to fail, and the names of those that were called. */
function watched(): BreakableStorage & { readonly calls: Set<string> } {
  const calls = new Set<string>();
  const { broken, storage } = breakable();
  return {
    broken,
    calls,
    storage: around(storage, async (name, call) => {
      calls.add(name);
      return call();
    }),
  };
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

test('if any storage call of any page or form fails, the response is a page with 503, never a 500', async (t) => {
  const { storage, broken, calls } = watched();
  await using platform = await startDeveloperPlatform({ storage });

  const appOfDora = async (): Promise<string> => (await platform.registerFor('dora', REPORTS)).client.id;
  async function connected(browser: Browser): Promise<string> {
    const app = await platform.registerFor('dora', REPORTS);
    t.is((await runCodeFlow(platform, app, { browser })).status, 200);
    return app.client.id;
  }
  const newRobot = { name: 'Robot', place: 'none', grantType: 'client_credentials' };
  const settings = { name: 'Other', redirectUris: REPORTS.redirectUris[0] };
  const secrets = async (): Promise<string> => `${AREA}/${await appOfDora()}/secrets`;
  const disconnect = async (browser: Browser): Promise<string> =>
    `/account/apps/${await connected(browser)}/revoke`;
  /** The path of each page, and what its form is posted with, besides its hidden fields. */
  const steps: readonly (readonly [
    name: string,
    path: (browser: Browser) => Promise<string>,
    fields?: Record<string, string>,
  ])[] = [
    ['GET sign-in', async () => '/oauth/login'],
    ['GET logout', async () => '/oauth/logout'],
    ['POST logout', async () => '/oauth/logout', {}],
    ['GET apps', async () => AREA],
    ['GET new app', async () => `${AREA}/new`],
    ['POST new app', async () => `${AREA}/new`, newRobot],
    ['GET app', async () => `${AREA}/${await appOfDora()}`],
    ['POST settings', async () => `${AREA}/${await appOfDora()}/settings`, settings],
    ['GET secrets', secrets],
    ['POST secrets', secrets, {}],
    ['GET activity', async () => `${AREA}/${await appOfDora()}/activity`],
    ['POST disable', async () => `${AREA}/${await appOfDora()}/disable`, {}],
    ['POST delete', async () => `${AREA}/${await appOfDora()}/delete`, {}],
    ['GET connected apps', async () => '/account/apps'],
    ['GET disconnect', disconnect],
    ['POST disconnect', disconnect, {}],
  ];

  /** Signs in and prepares a step. */
  async function prepare([, path, fields]: (typeof steps)[number]): Promise<() => Promise<Page>> {
    const browser = await platform.signInAs('dora');
    const address = platform.url(await path(browser));
    if (!fields) return async () => browser.get(address);
    const body = new URLSearchParams({ ...(await browser.get(address)).hiddenFields(), ...fields });
    return async () => browser.post(address, body);
  }

  for (const given of steps) {
    const [name] = given;
    const first = await prepare(given);
    calls.clear();
    const well = await first();
    t.true(well.status < 400, `${name}: ${well.status} ${well.text}`);
    const awaited = [...calls].filter((call) => !UNAWAITED.has(call));
    t.true(awaited.length > 0, name);

    for (const call of [...awaited, '*']) {
      const step = await prepare(given);
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
      // The same step again: after a partial write it must not be a 500 either.
      t.true((await step()).status < 500, where);
    }
  }
});

test('a login gets 503 while the storage fails, and the same form works afterwards', async (t) => {
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
