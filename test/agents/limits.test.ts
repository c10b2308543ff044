import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { createAdministration } from 'koa-gatehouse';

import { onEachDatabase, sqlite } from '../adapters/databases.ts';
import { openStorage } from '../adapters/host-knex.ts';
import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { pkce } from '../harness/pkce.ts';
import { authorizeUrl, runCodeFlow, signIn } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import type { Answer } from '../harness/requests.ts';
import { pausable } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import type { PausableStorage } from '../harness/storage.ts';
import { exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { AGENT, appOf, eventsOf, manage, PUBLIC, register, registered, startOpen } from './apps.ts';
import type { Registration } from './apps.ts';
import { startTwo } from '../harness/cluster.ts';

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
  const { storage, pause } = pausable(await openStorage(t, address));
  const other = await openStorage(t, address);
  const nodes = await startTwo([storage, other], async (node) =>
    startOpen(t, { ...given, ...node, retention: { pruneInterval: 0 } }),
  );
  return { ...nodes, storage, pause };
}

/** A rule on top of the storage, whose SQL the contract of storages covers on each database. */
function onOneDatabase(title: string, run: (t: ExecutionContext, address: string) => Promise<void>): void {
  test.serial(title, async (t) => run(t, await sqlite.empty()));
}

/** Changes the name of an app. */
async function rename(
  node: Pick<Platform, 'url'>,
  app: Registration,
  client_name: string,
  from?: Record<string, string>,
): Promise<Answer> {
  const { client_id } = app;
  // That of the registration is below the issuer, which is the same for all nodes.
  const registration_client_uri = String(node.url(`/oauth/register/${client_id}`));
  return manage({ ...app, registration_client_uri }, 'PUT', { ...AGENT, client_id, client_name }, from);
}

function sentFrom(address: string): Record<string, string> {
  return { 'x-forwarded-for': address };
}

const ANN = ['ann@school.example', 'correct horse'] as const;
const BOB = ['bob@school.example', 'battery staple'] as const;

/** Signs in with a new browser, and consents. */
async function connect(
  platform: Platform,
  app: RegisteredApp,
  person: typeof ANN | typeof BOB,
): Promise<void> {
  const browser = new Browser();
  const page = await signIn(
    browser,
    await browser.open(authorizeUrl(platform, app, pkce().parameters)),
    ...person,
  );
  await browser.follow(await browser.submit(page, 'Authorize'));
}

/** The statuses of registrations at once, at the nodes in turn. */
async function statuses(nodes: readonly Platform[], count: number): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, index) => register(nodes[index % nodes.length]!, AGENT)),
  );
  return answers.map(({ status }) => status);
}

function refusesForAnHour(t: ExecutionContext, { body, headers }: Answer, reason: string): void {
  const seconds = Number(headers.get('retry-after'));
  t.true(seconds > 3500 && seconds <= 3600, String(seconds));
  t.deepEqual(body, {
    error: 'temporarily_unavailable',
    error_description: `${reason}; try again in ${seconds} seconds`,
  });
}

onOneDatabase('two nodes together keep no more apps than may exist', async (t, address) => {
  const { here, there } = await startNodes(t, address, { registration: { maxClients: 5 } });
  await here.registerApp();
  t.deepEqual(new Set(await statuses([here, there], 16)), new Set([201]));
  t.is((await here.auth.clients.list()).length, 6, 'those of people do not count');
  await here.auth.audit.flush();
  const gone = await there.auth.audit.list({ types: ['client_deleted'], limit: 100 });
  t.is(new Set(gone.map((record) => 'clientId' in record && record.clientId)).size, 11);
});

onOneDatabase(
  'without an app that gives way, no more are registered until one is deleted',
  async (t, address) => {
    const { here, there } = await startNodes(t, address, { registration: { maxClients: 2 } });
    const apps = [await registered(here), await registered(there)];
    for (const registration of apps) {
      const app = await appOf(here, registration);
      for (const person of [ANN, BOB]) await connect(here, app, person);
    }
    t.deepEqual(new Set(await statuses([here, there], 6)), new Set([503]));
    const { body, headers } = await register(there, AGENT);
    t.is(headers.get('retry-after'), '3600');
    t.deepEqual(body, {
      error: 'temporarily_unavailable',
      error_description: 'no more apps can be registered at the moment',
    });
    await there.auth.clients.delete(apps[0]!.client_id);
    t.is((await register(here, AGENT)).status, 201);
    t.truthy(await here.auth.clients.find(apps[1]!.client_id));
  },
);

onOneDatabase(
  'one account that consents to apps of one address does not hold their places',
  async (t, address) => {
    const { here, there } = await startNodes(t, address, { registration: { maxClients: 8 } });
    const held: { readonly id: string; readonly token: string }[] = [];
    const browser = new Browser();
    for (let count = 0; count < 8; count += 1) {
      const app = await appOf(here, await registered(here));
      const { body } = await runCodeFlow(here, app, { browser });
      held.push({ id: app.client.id, token: body.access_token });
      passTime(10);
    }
    const others: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const app = await appOf(there, await registered(there));
      await connect(here, app, BOB);
      others.push(app.client.id);
      const left = new Set((await there.auth.clients.list({ limit: 100 })).map(({ id }) => id));
      t.deepEqual(
        held.map(({ id }) => left.has(id)),
        held.map((_, index) => index > count),
        'the longest unused ones are gone',
      );
      t.true(others.every((id) => left.has(id)));
    }
    // The other node notices within `tokens.revocationLag`.
    passTime(6);
    for (const node of [here, there]) {
      const api = async ({ token }: (typeof held)[number]) => (await node.api('/schools', token)).status;
      t.deepEqual(await Promise.all(held.map(api)), [401, 401, 401, 200, 200, 200, 200, 200]);
    }
    t.is((await register(there, AGENT)).status, 503, 'five of one user, and three of another');
    passTime(31 * DAY);
    t.is((await register(there, AGENT)).status, 201, 'unused for a month');
    const left = new Set((await here.auth.clients.list({ limit: 100 })).map(({ id }) => id));
    t.is(left.size, 8);
    t.is([...held.slice(3).map(({ id }) => id), ...others].filter((id) => left.has(id)).length, 7);
  },
);

onOneDatabase('two nodes together count the apps of an address', async (t, address) => {
  const { here, there } = await startNodes(t, address, { registration: { perAddress: 4 } });
  const answers = await statuses([here, there], 14);
  t.is(answers.filter((status) => status === 201).length, 4);
  t.is(answers.filter((status) => status === 429).length, 10);
  refusesForAnHour(t, await register(there, AGENT), 'too many apps were registered from this address');
  t.is((await register(here, { redirect_uris: [] })).status, 429, 'refused before the body is read');
});

onEachDatabase(
  'a public app that registers again from its address adds no row until a user has authorized it',
  async (t, _database, address) => {
    const { here, there } = await startNodes(t, address);
    const ids: string[] = [];
    for (const person of [ANN, BOB, ANN, BOB]) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => registered([here, there][index % 2]!, PUBLIC)),
      );
      const found = new Set(answers.map(({ client_id: id }) => id));
      t.is(found.size, 1, 'also of those that arrive at once');
      ids.push(...found);
      t.is(answers.filter((answer) => 'registration_access_token' in answer).length, 1);
      t.is((await here.auth.clients.list()).length, ids.length);
      await connect(here, await appOf(here, answers[0]!), person);
    }
    t.is(new Set(ids).size, 4, 'an app that was authorized is not handed out');
  },
);

test('nobody manages a registration that two programs have, and a secret is for one of them alone', async (t) => {
  const platform = await startOpen(t, {
    trustProxy: true,
    mounting: { app: ({ auth }) => auth.callback() },
  });
  const one = await registered(platform, PUBLIC, sentFrom('192.0.2.1'));
  const status = async (method: string) => (await manage(one, method)).status;
  t.is(await status('GET'), 200);
  const again = await registered(platform, PUBLIC, sentFrom('192.0.2.1'));
  t.is(again.client_id, one.client_id);
  t.false('registration_access_token' in again);
  t.false('registration_client_uri' in again);
  for (const method of ['GET', 'DELETE']) t.is(await status(method), 401, method);

  const other = { ...PUBLIC, client_name: 'Another agent' };
  for (const [metadata, address] of [
    [PUBLIC, '192.0.2.2'],
    [other, '192.0.2.1'],
    [{ ...PUBLIC, redirect_uris: ['https://agent.example/other'] }, '192.0.2.1'],
  ] as const)
    t.not((await registered(platform, metadata, sentFrom(address))).client_id, one.client_id);

  const secrets = [
    await registered(platform, AGENT, sentFrom('192.0.2.1')),
    await registered(platform, AGENT, sentFrom('192.0.2.1')),
  ];
  t.is(new Set(secrets.map(({ client_id: id }) => id)).size, 2);
  t.is(new Set(secrets.map(({ client_secret: secret }) => secret)).size, 2);

  const changed = await registered(platform, other, sentFrom('192.0.2.3'));
  const body = { ...other, client_id: changed.client_id, redirect_uris: ['https://evil.example/'] };
  t.is((await manage(changed, 'PUT', body)).status, 200);
  const after = await registered(platform, other, sentFrom('192.0.2.3'));
  t.not(after.client_id, changed.client_id, 'one that was changed is not handed out');
  t.deepEqual(after.redirect_uris, other.redirect_uris);
  await platform.auth.clients.disable(after.client_id);
  t.not((await registered(platform, other, sentFrom('192.0.2.3'))).client_id, after.client_id);
});

test.serial('an address can register again after an hour; wrong metadata does not count', async (t) => {
  const platform = await startOpen(t, { registration: { perAddress: 1 } });
  for (let count = 0; count < 5; count += 1) t.is((await register(platform, {})).status, 400);
  const { client_id: id } = await registered(platform, PUBLIC);
  // A repeated one does not count either.
  for (let count = 0; count < 3; count += 1) t.is((await registered(platform, PUBLIC)).client_id, id);
  t.is((await register(platform, AGENT)).status, 429);
  passTime(3601);
  t.is((await register(platform, AGENT)).status, 201);
});

test('an address registers no more apps where attempts of all other kinds are not limited', async (t) => {
  const platform = await startOpen(t, { limits: { attempts: false }, registration: { perAddress: 1 } });
  await registered(platform, AGENT);
  t.is((await register(platform, AGENT)).status, 429);
});

onOneDatabase('prune() removes apps that no user has authorized', async (t, address) => {
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
  const refreshed = await exchangeRefreshToken(here, await appOf(here, used), tokens.refresh_token);
  t.is(refreshed.status, 200);
});

onOneDatabase(
  'prune() removes an app that was authorized when it was not used for unusedAfter and has no valid token',
  async (t, address) => {
    const lifetimes = { accessToken: '1 hour', refreshToken: '30 days' } as const;
    const { here, storage, there } = await startNodes(t, address, { tokens: { lifetimes } });
    const lastUse = async (): Promise<number> =>
      (await storage.consents.find('1', app.client_id))?.lastUsedAt ?? 0;
    const app = await registered(here);
    const { body: tokens } = await runCodeFlow(here, await appOf(here, app));
    passTime(89 * DAY);
    await there.auth.prune();
    t.truthy(await here.auth.clients.find(app.client_id));
    // The user signs in and connects it again; the consent is remembered.
    const again = await runCodeFlow(here, await appOf(here, app));
    t.is((await here.api('/schools', again.body.access_token)).status, 200);
    const at = Date.now() / 1000;
    await until(async () => (await lastUse()) > at - DAY);
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

onOneDatabase('apps that delete themselves leave no row', async (t, address) => {
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

onOneDatabase(
  'prune() beside the first consent keeps the app with the consent, or removes it with none',
  async (t, address) => {
    const { here, there, storage, pause } = await startNodes(t, address);
    for (const isFirst of ['the consent', 'the removal'] as const) {
      const app = await appOf(here, await registered(here));
      const browser = new Browser();
      passTime(DAY - 60);
      const page = await signIn(browser, await browser.open(authorizeUrl(here, app)));
      t.true(page.html.includes('Authorize</button>'));
      passTime(120);
      if (isFirst === 'the consent') {
        const { reached, resume } = pause('grants.insert');
        const consent = async () => browser.follow(await browser.submit(page, 'Authorize'));
        const answer = consent();
        await reached;
        await there.auth.prune();
        resume();
        const code = (await answer).location?.searchParams.get('code');
        t.truthy(await here.auth.clients.find(app.client.id));
        const { status } = await exchangeCode(here, app, code);
        t.is(status, 200);
      } else {
        const { reached, resume } = pause('registrations.addConsent');
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

onOneDatabase('a consent beside the deletion by the app itself is not left', async (t, address) => {
  const { here, storage, pause } = await startNodes(t, address);
  const registration = await registered(here);
  const app = await appOf(here, registration);
  const browser = new Browser();
  const page = await signIn(browser, await browser.open(authorizeUrl(here, app)));
  const { reached, resume } = pause('registrations.addConsent');
  const answer = browser.submit(page, 'Authorize');
  await reached;
  t.is((await manage(registration, 'DELETE')).status, 204);
  resume();
  t.is((await answer).status, 400);
  t.is(await storage.consents.find('1', app.client.id), undefined);
});

onOneDatabase('changes by two nodes at once are all checked and saved', async (t, address) => {
  const { here, there } = await startNodes(t, address);
  const app = await registered(here);
  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => rename([here, there][index % 2]!, app, `Agent ${index}`)),
  );
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.regex((await here.auth.clients.find(app.client_id))!.name, /^Agent \d$/);
});

onOneDatabase(
  'two nodes together change a registration twenty times in an hour, with a row for each',
  async (t, address) => {
    const { here, there } = await startNodes(t, address);
    const [app, other] = [await registered(here), await registered(here)];
    const flood = async (): Promise<number[]> => {
      const answers: number[] = [];
      for (let count = 0; count < 30; count += 1) {
        const { status } = await rename([here, there][count % 2]!, app, `Agent ${count % 3}`);
        answers.push(status);
      }
      return answers;
    };
    const rows = async (): Promise<number> =>
      (await there.auth.audit.list({ types: ['client_updated'], clientId: app.client_id, limit: 200 }))
        .length;
    t.deepEqual(await flood(), [...Array<number>(20).fill(200), ...Array<number>(10).fill(429)]);
    await here.auth.audit.flush();
    t.is(await rows(), 20);
    refusesForAnHour(t, await rename(here, app, 'Agent'), 'too many changes of registered apps');
    t.is((await manage(app, 'GET')).status, 200);
    t.is((await rename(here, other, 'Other')).status, 200);
    passTime(3601);
    t.is((await flood()).indexOf(429), 20);
    await here.auth.audit.flush();
    t.is(await rows(), 40);
  },
);

test('an address changes three times as many registrations as it may make in an hour', async (t) => {
  const platform = await startOpen(t, {
    trustProxy: true,
    mounting: { app: ({ auth }) => auth.callback() },
    registration: { perAddress: 7 },
  });
  const [one, other] = [await registered(platform), await registered(platform)];
  const put = async (app: typeof one, count: number, from = '192.0.2.1') =>
    rename(platform, app, `Agent ${count}`, sentFrom(from));
  for (let count = 0; count < 15; count += 1) t.is((await put(one, count)).status, 200);
  t.is((await put({ ...one, registration_access_token: other.registration_access_token }, 0)).status, 401);
  for (let count = 0; count < 6; count += 1) t.is((await put(other, count)).status, 200);
  t.is((await put(other, 9)).status, 429);
  t.is((await put(other, 9, '198.51.100.1')).status, 200);
});

onOneDatabase('a storage that fails is answered with 503', async (t, address) => {
  const storage = knexStorage(address);
  const platform = await startOpen(t, { storage });
  const registration = await registered(platform);
  await storage.close();
  const answer = await register(platform, AGENT);
  t.is(answer.status, 503);
  t.is(answer.headers.get('retry-after'), '1');
  t.is(answer.body!['error'], 'temporarily_unavailable');
  t.is((await manage(registration, 'GET')).status, 503);
});
