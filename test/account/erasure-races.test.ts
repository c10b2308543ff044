import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { beginOn, enter, poll, registerDevice } from '../devices/device.ts';
import type { DeviceAnswer } from '../devices/device.ts';
import type { Page } from '../harness/browser.ts';
import { BrowserOfCluster, clusterOn } from '../harness/cluster.ts';
import type { Cluster } from '../harness/cluster.ts';
import { authorize, authorizeUrl, people, runCodeFlow } from '../harness/platform.ts';
import type { Person, Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import type { PausableStorage } from '../harness/storage.ts';
import { asClient } from '../harness/tokens.ts';

const USERS = 30;
const AT_ONCE = 10;

/** Two nodes on one database, with the same users. */
interface Nodes {
  readonly cluster: Cluster;
  readonly one: Platform;
  readonly two: Platform;
  readonly users: ReturnType<typeof people>;
  readonly app: RegisteredApp;
  /** To which nobody has consented. */
  readonly other: RegisteredApp;
  readonly device: RegisteredApp;
  /** Of the node `two`. */
  readonly pause: PausableStorage['pause'];
  /** The number of the users that were prepared. */
  count: number;
}

async function startNodes(t: ExecutionContext, address: string): Promise<Nodes> {
  const cluster = clusterOn(t, address);
  const users = people();
  const given = {
    users,
    clients: { devices: true },
    limits: { attempts: false },
    tokens: { personal: true },
  } as const;
  const { pause, storage } = pausable(knexStorage(address));
  const one = await cluster.start(given);
  const two = await cluster.start({ ...given, storage });
  const device = await registerDevice(one);
  const [app, other] = [await one.registerApp(), await one.registerApp({ name: 'Other' })];
  return { cluster, one, two, users, app, other, device, pause, count: 0 };
}

/** What a user has, and what is about to be stored. */
interface Prepared {
  readonly user: Person & { readonly email: string };
  readonly browser: BrowserOfCluster;
  readonly tokens: TokenAnswer['body'];
  readonly personal: string;
  readonly code: string | null;
  readonly consent: Page;
  readonly pairing: DeviceAnswer;
  readonly connect: Page;
}

/** A new user, who has everything, and opens the pages of a consent and of a device. */
async function prepare(nodes: Nodes): Promise<Prepared> {
  const { app, device, one, other, users } = nodes;
  const count = (nodes.count += 1);
  const email = `eve${count}@school.example`;
  const password = `password of ${count}`;
  const user = {
    id: `erased-${count}-erased`,
    name: 'Eve',
    email,
    password,
    permissions: ['view_schools'],
  } as const;
  users.all.push(user);
  const browser = new BrowserOfCluster(one);
  const login = { browser, person: email, password };
  const { body: tokens } = await runCodeFlow(one, app, login);
  const code = (await authorize(one, app, login)).get('code');
  const consent = await browser.open(authorizeUrl(one, other));
  const reached = { url: (path: string) => one.reach(one.url(path)) };
  const pairing = await beginOn(reached, device);
  const connect = await enter(one, browser, pairing.user_code);
  const { value: personal } = await one.auth.personalTokens.create({
    user: user.id,
    name: 'Before',
    lifetime: '1 day',
    scopes: ['schools:read'],
  });
  return { user, browser, tokens, personal, code, consent, pairing, connect };
}

/** What stores something of a user, and the call of the storage that does. Each resolves to the credentials that it got. */
const REQUESTS: Readonly<
  Record<
    string,
    readonly [call: string, send: (nodes: Nodes, of: Prepared) => Promise<readonly (string | undefined)[]>]
  >
> = {
  'a refresh': [
    'grants.redeem',
    async ({ app, two }, { tokens }) => {
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
      const { body } = await two.token({ ...refresh, ...asClient(app) });
      return [body.access_token, body.refresh_token];
    },
  ],
  'a code exchange': [
    'grants.redeem',
    async ({ app, two }, { code }) => {
      const exchange = { grant_type: 'authorization_code', redirect_uri: app.redirectUri, code };
      const { body } = await two.token({ ...exchange, ...asClient(app) });
      return [body.access_token, body.refresh_token];
    },
  ],
  'a consent': [
    'consents.add',
    async ({ two }, { browser, consent }) => {
      const page = await browser.sendTo(two).follow(await browser.submit(consent, 'Authorize'));
      return [page.location?.searchParams.get('code') ?? undefined];
    },
  ],
  'a personal access token': [
    'personalTokens.insert',
    async ({ two }, { user }) => {
      const token = { user: user.id, name: 'Late', lifetime: '1 day', scopes: ['schools:read'] } as const;
      return [(await two.auth.personalTokens.create(token)).value];
    },
  ],
  'an approval of a device': [
    'deviceCodes.approve',
    async ({ two }, { browser, connect }) => {
      await browser.sendTo(two).submit(connect, 'Connect');
      return [];
    },
  ],
  'a login': [
    'sessions.insert',
    async ({ two }, { user }) => {
      const browser = new BrowserOfCluster(two);
      const page = await browser.open(two.url('/oauth/login'));
      await browser.submit(page, 'Sign in', { login: user.email, password: user.password });
      return browser.cookies.map(({ name, value }) => `${name}=${value}`);
    },
  ],
  'a token of the host': [
    'grants.insert',
    async ({ app, two }, { user }) => {
      return [await two.auth.issueToken({ client: app.client.id, user: user.id })];
    },
  ],
};

function remove({ users }: Nodes, user: Person): void {
  users.all.splice(users.all.indexOf(user), 1);
}

/** Whether a credential works, on either node, for somebody who has the id now. */
async function nothingWorks(
  t: ExecutionContext,
  { app, device, one, other, two, users }: Nodes,
  { code, browser, pairing, personal, tokens, user }: Prepared,
  got: readonly (string | undefined)[],
): Promise<void> {
  users.all.push(user);
  for (const node of [one, two]) {
    for (const token of [tokens.access_token, personal, ...got].filter((value) => value !== undefined))
      t.is((await node.api('/identity', token)).status, 401, token);
    for (const token of [tokens.refresh_token, ...got].filter((value) => value !== undefined)) {
      const refresh = { grant_type: 'refresh_token', refresh_token: token, ...asClient(app) };
      t.is((await node.token(refresh)).body.error, 'invalid_grant', token);
    }
    for (const [client, presented] of [
      [app, code],
      ...got.map((value) => [other, value] as const),
    ] as const) {
      const exchange = { grant_type: 'authorization_code', code: presented ?? 'none', ...asClient(client) };
      t.is((await node.token({ ...exchange, redirect_uri: client.redirectUri })).body.error, 'invalid_grant');
    }
    const reached = { url: (path: string) => node.reach(node.url(path)) };
    t.not((await poll(reached, device, pairing.device_code)).status, 200);
    t.is((await browser.sendTo(node).open(node.url('/account/apps'))).heading, 'Sign in');
    for (const cookie of got.filter((value) => value?.includes('_session')))
      t.is(
        (await new BrowserOfCluster(node).get(node.url('/account/apps'), { cookie: cookie! })).status,
        303,
      );
  }
  remove({ users } as Nodes, user);
}

/** Ends the nodes, which write their last audit events, and looks for the users in all tables. */
async function nothingIsStored(
  t: ExecutionContext,
  { cluster, count, one, two }: Nodes,
  { database, address, besides }: { database: TestDatabase; address: string; besides: readonly string[] },
): Promise<void> {
  for (const node of [one, two]) await cluster.stop(node);
  const contents = await contentsOf(database, address);
  const found = [...contents].flatMap(([table, rows]) =>
    rows.filter((row) => JSON.stringify(row).includes('-erased')).map((row) => ({ table, row })),
  );
  // The ends of the users stay, because an id may be given to somebody else.
  t.deepEqual(
    found.filter(({ table }) => !['gatehouse_revocations', ...besides].includes(table)),
    [],
  );
  t.is(found.filter(({ table }) => table === 'gatehouse_revocations').length, count);
  t.deepEqual(contents.get('gatehouse_credentials'), []);
  t.deepEqual(contents.get('gatehouse_grants'), []);
}

onEachDatabase(
  `of ${USERS} users who are erased while both nodes store something of them, nothing is stored and nothing works`,
  async (t, database, address) => {
    const nodes = await startNodes(t, address);
    const { one, users } = nodes;
    const eraseOne = async (): Promise<() => Promise<void>> => {
      const prepared = await prepare(nodes);
      const { user } = prepared;
      const requests = Object.values(REQUESTS).filter(([call]) => call !== 'sessions.insert');
      return async () => {
        users.all.splice(users.all.indexOf(user), 1);
        const running = requests.map(async ([, send]) => send(nodes, prepared).catch(() => []));
        const [got] = await Promise.all([Promise.all(running), one.auth.userData.erase(user.id)]);
        await nothingWorks(t, nodes, prepared, got.flat());
      };
    };
    for (let round = 0; round < USERS; round += AT_ONCE) {
      const prepared = await Promise.all(Array.from({ length: AT_ONCE }, eraseOne));
      await Promise.all(prepared.map(async (run) => run()));
    }
    await nothingIsStored(t, nodes, { database, address, besides: [] });
  },
);

for (const [name, [call, send]] of Object.entries(REQUESTS)) {
  onEachDatabase(
    `what is stored after its user was erased is not stored: ${name}`,
    async (t, database, address) => {
      const nodes = await startNodes(t, address);
      const prepared = await prepare(nodes);
      const { reached, resume } = nodes.pause(call);
      const running = send(nodes, prepared).catch(() => []);
      await reached;
      remove(nodes, prepared.user);
      await nodes.one.auth.userData.erase(prepared.user.id);
      resume();
      await nothingWorks(t, nodes, prepared, await running);
      // What the request has done is recorded after the erasure has waited for such events, and erased with a repetition.
      await nothingIsStored(t, nodes, { database, address, besides: ['gatehouse_audit'] });
    },
  );
}
