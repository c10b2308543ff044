import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { createAdministration } from 'koa-gatehouse';

import { onEachDatabase, onEachDatabaseInSeries } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, runCodeFlow, signIn } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { pausable } from '../harness/storage.ts';
import type { PausableStorage } from '../harness/storage.ts';
import { AGENT, appOf, eventsOf, manage, register, registered, startOpen } from './apps.ts';

const DAY = 86_400;

interface Nodes {
  readonly here: Platform;
  readonly there: Platform;
  readonly storage: PausableStorage['storage'];
  readonly pause: PausableStorage['pause'];
}

type Options = Parameters<typeof startOpen>[1];

/** Two nodes on one database. The calls of the storage of the first one can be paused. */
async function startNodes(t: ExecutionContext, address: string, given: Options = {}): Promise<Nodes> {
  const { storage, pause } = pausable(knexStorage(address));
  const other = knexStorage(address);
  const here = await startOpen(t, { ...given, storage, pruneInterval: 0 });
  const there = await startOpen(t, {
    ...given,
    storage: other,
    issuer: here.origin,
    users: here.users,
    pruneInterval: 0,
  });
  t.teardown(async () => {
    await storage.close();
    await other.close();
  });
  return { here, there, storage, pause };
}

/** The second node has the issuer of the first one, so its own address is needed. */
async function statuses(nodes: readonly Platform[], count: number): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, index) => register(nodes[index % nodes.length]!, AGENT)),
  );
  return answers.map(({ status }) => status);
}

onEachDatabase('two nodes together register no more apps than may exist', async (t, _database, address) => {
  const { here, there } = await startNodes(t, address, { dynamicRegistration: { maxClients: 5 } });
  const manual = await here.registerApp();
  const answers = await statuses([here, there], 16);
  t.is(answers.filter((status) => status === 201).length, 5);
  t.is(answers.filter((status) => status === 503).length, 11);
  t.is((await here.auth.clients.list()).length, 6, 'those of people do not count');
  const { body, headers } = await register(there, AGENT);
  t.is(headers.get('retry-after'), '3600');
  t.deepEqual(body, {
    error: 'temporarily_unavailable',
    error_description: 'no more apps can be registered at the moment',
  });
  // The last free place.
  const gone = (await here.auth.clients.list()).find(({ id }) => id !== manual.client.id);
  await there.auth.clients.delete(gone!.id);
  const later = await statuses([here, there], 6);
  t.is(later.filter((status) => status === 201).length, 1);
});

onEachDatabase('two nodes together count the apps of an address', async (t, _database, address) => {
  const { here, there } = await startNodes(t, address, { dynamicRegistration: { perAddress: 4 } });
  const answers = await statuses([here, there], 14);
  t.is(answers.filter((status) => status === 201).length, 4);
  t.is(answers.filter((status) => status === 429).length, 10);
  const { body, headers } = await register(there, AGENT);
  const seconds = Number(headers.get('retry-after'));
  t.true(seconds > 3500 && seconds <= 3600, String(seconds));
  t.deepEqual(body, {
    error: 'temporarily_unavailable',
    error_description: `too many apps were registered from this address; try again in ${seconds} seconds`,
  });
  t.is((await register(here, { redirect_uris: [] })).status, 429, 'refused before the body is read');
});

test.serial('an address can register again after an hour; wrong metadata does not count', async (t) => {
  const platform = await startOpen(t, { dynamicRegistration: { perAddress: 1 } });
  for (let count = 0; count < 5; count += 1) t.is((await register(platform, {})).status, 400);
  await registered(platform);
  t.is((await register(platform, AGENT)).status, 429);
  passTime(3601);
  t.is((await register(platform, AGENT)).status, 201);
});

onEachDatabaseInSeries('prune() removes apps that no user has authorized', async (t, _database, address) => {
  const { here, there } = await startNodes(t, address);
  const unused = await registered(here);
  const used = await registered(here);
  const disabled = await registered(here);
  await here.auth.clients.disable(disabled.client_id);
  const { body: tokens } = await runCodeFlow(here, await appOf(here, used));
  passTime(DAY + 1);
  t.true((await there.auth.prune()) >= 1);
  t.is(await here.auth.clients.find(unused.client_id), undefined);
  t.truthy(await here.auth.clients.find(used.client_id));
  t.true((await here.auth.clients.find(disabled.client_id))?.disabled);
  t.deepEqual((await eventsOf(there, unused.client_id)).at(-1), {
    type: 'client_deleted',
    clientId: unused.client_id,
    name: 'Agent',
  });
  const refreshed = await here.token({
    grant_type: 'refresh_token',
    client_id: used.client_id,
    client_secret: used.client_secret,
    refresh_token: tokens.refresh_token,
  });
  t.is(refreshed.status, 200);
});

onEachDatabaseInSeries(
  'prune() removes an app that was authorized when it was not used for unusedAfter and has no valid token',
  async (t, _database, address) => {
    const lifetimes = { accessToken: '1 hour', refreshToken: '30 days' } as const;
    const { here, there } = await startNodes(t, address, { lifetimes });
    const app = await registered(here);
    const { body: tokens } = await runCodeFlow(here, await appOf(here, app));
    passTime(89 * DAY);
    await there.auth.prune();
    t.truthy(await here.auth.clients.find(app.client_id));
    // The user signs in and connects it again; the consent is remembered.
    const again = await runCodeFlow(here, await appOf(here, app));
    t.is((await here.api('/schools', again.body.access_token)).status, 200);
    passTime(50 * DAY);
    await there.auth.prune();
    t.truthy(await here.auth.clients.find(app.client_id), 'looked at, and used');
    passTime(91 * DAY);
    const administration = createAdministration({ storage: knexStorage(address) });
    await administration.prune();
    await administration.close();
    t.is(await here.auth.clients.find(app.client_id), undefined);
    t.is((await here.api('/schools', tokens.access_token)).status, 401);
  },
);

onEachDatabaseInSeries('apps that delete themselves leave no row', async (t, _database, address) => {
  const { here, storage } = await startNodes(t, address);
  const rows = async (): Promise<unknown[]> =>
    storage.transaction(async (transaction) =>
      (transaction as Knex.Transaction)('gatehouse_revocations').where({ kind: 'client' }),
    );
  for (let count = 0; count < 3; count += 1) {
    const registration = await registered(here);
    if (count === 0) await runCodeFlow(here, await appOf(here, registration));
    t.is((await manage(registration, 'DELETE')).status, 204);
  }
  t.is((await rows()).length, 3, 'for requests in progress');
  passTime(2 * DAY);
  await here.auth.prune();
  t.deepEqual(await rows(), []);
});

onEachDatabaseInSeries(
  'prune() beside the first consent keeps the app with the consent, or removes it with none',
  async (t, _database, address) => {
    const { here, there, storage, pause } = await startNodes(t, address);
    for (const isFirst of ['the consent', 'the removal'] as const) {
      const app = await appOf(here, await registered(here));
      const browser = new Browser();
      passTime(DAY - 60);
      const page = await signIn(browser, await browser.open(authorizeUrl(here, app)));
      t.true(page.html.includes('Authorize</button>'));
      passTime(120);
      if (isFirst === 'the consent') {
        const { reached, resume } = pause('credentials.start');
        const consent = async () => browser.follow(await browser.submit(page, 'Authorize'));
        const answer = consent();
        await reached;
        await there.auth.prune();
        resume();
        const code = (await answer).location?.searchParams.get('code');
        t.truthy(await here.auth.clients.find(app.client.id));
        const { status } = await here.token({
          grant_type: 'authorization_code',
          client_id: app.client.id,
          client_secret: app.secret,
          redirect_uri: app.redirectUri,
          code,
        });
        t.is(status, 200);
      } else {
        const { reached, resume } = pause('consents.add');
        const answer = browser.submit(page, 'Authorize');
        await reached;
        await there.auth.prune();
        resume();
        const { status, text } = await answer;
        t.is(status, 400);
        t.regex(text, /Go back to the app/);
        t.is(await here.auth.clients.find(app.client.id), undefined);
        t.is(await storage.consents.find('1', app.client.id), undefined);
      }
    }
  },
);

onEachDatabase(
  'a consent beside the deletion by the app itself is not left',
  async (t, _database, address) => {
    const { here, storage, pause } = await startNodes(t, address);
    const registration = await registered(here);
    const app = await appOf(here, registration);
    const browser = new Browser();
    const page = await signIn(browser, await browser.open(authorizeUrl(here, app)));
    const { reached, resume } = pause('consents.add');
    const answer = browser.submit(page, 'Authorize');
    await reached;
    const { status } = await fetch(registration.registration_client_uri, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${registration.registration_access_token}` },
    });
    t.is(status, 204);
    resume();
    t.is((await answer).status, 400);
    t.is(await storage.consents.find('1', app.client.id), undefined);
  },
);

onEachDatabase('changes by two nodes at once are all checked and saved', async (t, _database, address) => {
  const { here, there } = await startNodes(t, address);
  const { client_id, registration_access_token: token } = await registered(here);
  const put = async (node: Platform, name: string): Promise<number> => {
    const url = node.url(`/oauth/register/${client_id}`);
    const { status } = await fetch(url, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...AGENT, client_id, client_name: name }),
    });
    return status;
  };
  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => put(index % 2 === 0 ? here : there, `Agent ${index}`)),
  );
  t.deepEqual(new Set(answers), new Set([200]));
  t.regex((await here.auth.clients.find(client_id))!.name, /^Agent \d$/);
});

onEachDatabase('a storage that fails is answered with 503', async (t, _database, address) => {
  const storage = knexStorage(address);
  const platform = await startOpen(t, { storage });
  const { client_id, registration_access_token: token } = await registered(platform);
  await storage.close();
  const answer = await postJson(platform.url('/oauth/register'), AGENT);
  t.is(answer.status, 503);
  t.is(answer.headers.get('retry-after'), '1');
  t.is(answer.body!['error'], 'temporarily_unavailable');
  const read = await fetch(platform.url(`/oauth/register/${client_id}`), {
    headers: { authorization: `Bearer ${token}` },
  });
  t.is(read.status, 503);
});
