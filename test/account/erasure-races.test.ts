import { personalTokens, devices } from 'koa-gatehouse';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { beginOn, enter, poll, registerDevice } from '../devices/device.ts';
import { BrowserOfCluster, clusterOn } from '../harness/cluster.ts';
import { authorize, authorizeUrl, people, runCodeFlow } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';

type Nodes = Awaited<ReturnType<typeof startNodes>>;
type Prepared = Awaited<ReturnType<typeof prepare>>;

const ACCESS = { lifetime: '1 day', scopes: ['schools:read'] } as const;

/** Two nodes on one database, with the same users. `pause` is of the second. */
async function startNodes(t: ExecutionContext, address: string) {
  const cluster = clusterOn(t, address);
  const users = people();
  const given = {
    users,
    features: [devices(), personalTokens()],
    limits: { attempts: false },
  } as const;
  const { pause, storage } = pausable(knexStorage(address));
  const one = await cluster.start(given);
  const two = await cluster.start({ ...given, storage });
  const device = await registerDevice(one);
  // Nobody has consented to the other.
  const [app, other] = [await one.registerApp(), await one.registerApp({ name: 'Other' })];
  return { cluster, one, two, users, app, other, device, pause };
}

/** The endpoints of devices on a node. */
function reached(node: Platform): { url(path: string): URL } {
  return { url: (path) => node.reach(node.url(path)) };
}

/** A new user, who has everything, and opens the pages of a consent and of a device. */
async function prepare({ app, device, one, other, users }: Nodes, number: number) {
  const email = `eve${number}@school.example`;
  const password = `password of ${number}`;
  const id = `erased-${number}-erased`;
  const user: Person & { email: string } = {
    id,
    name: 'Eve',
    email,
    password,
    permissions: ['view_schools'],
  };
  users.all.push(user);
  const browser = new BrowserOfCluster(one);
  const login = { browser, person: email, password };
  const { body: tokens } = await runCodeFlow(one, app, login);
  const code = (await authorize(one, app, login)).get('code');
  const consent = await browser.open(authorizeUrl(one, other));
  const pairing = await beginOn(reached(one), device);
  const connect = await enter(one, browser, pairing.user_code);
  const personal = await one.auth.personalTokens.create({ userId: id, name: 'Before', ...ACCESS });
  return { user, browser, tokens, personal: personal.value, code, consent, pairing, connect };
}

type Send = (nodes: Nodes, of: Prepared) => Promise<readonly (string | null | undefined)[]>;

/** What stores something of a user, and the call of the storage that does. Each resolves to the credentials that it got. */
const REQUESTS: Readonly<Record<string, readonly [call: string, send: Send]>> = {
  'a refresh': [
    'grants.redeem',
    async ({ app, two }, { tokens }) => {
      const { body } = await exchangeRefreshToken(two, app, tokens.refresh_token);
      return [body.access_token, body.refresh_token];
    },
  ],
  'a code exchange': [
    'grants.redeem',
    async ({ app, two }, { code }) => {
      const { body } = await exchangeCode(two, app, code);
      return [body.access_token, body.refresh_token];
    },
  ],
  'a consent': [
    'consents.add',
    async ({ two }, { browser, consent }) => {
      const page = await browser.sendTo(two).follow(await browser.submit(consent, 'Authorize'));
      return [page.location?.searchParams.get('code')];
    },
  ],
  'a personal access token': [
    'personalTokens.insert',
    async ({ two }, { user }) => {
      return [(await two.auth.personalTokens.create({ userId: user.id, name: 'Late', ...ACCESS })).value];
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
    async ({ app, two }, { user }) => [
      await two.auth.issueToken({ clientId: app.client.id, userId: user.id }),
    ],
  ],
};

function remove({ users }: Nodes, { user }: Prepared): void {
  users.all.splice(users.all.indexOf(user), 1);
}

/** Asserts that no credential works, on either node, for somebody who has the id now. */
async function nothingWorks(
  t: ExecutionContext,
  nodes: Nodes,
  prepared: Prepared,
  got: Awaited<ReturnType<Send>>,
): Promise<void> {
  const { app, device, one, other, two, users } = nodes;
  const { browser, code, pairing, personal, tokens, user } = prepared;
  const late = got.filter((value) => typeof value === 'string');
  users.all.push(user);
  for (const node of [one, two]) {
    for (const token of [tokens.access_token, personal, ...late])
      t.is((await node.api('/identity', token)).status, 401, token);
    for (const token of [tokens.refresh_token, ...late])
      t.is((await exchangeRefreshToken(node, app, token)).body.error, 'invalid_grant', token);
    t.is((await exchangeCode(node, app, code)).body.error, 'invalid_grant');
    for (const value of late) t.is((await exchangeCode(node, other, value)).body.error, 'invalid_grant');
    t.not((await poll(reached(node), device, pairing.device_code)).status, 200);
    const account = node.url('/account/apps');
    t.is((await browser.sendTo(node).open(account)).heading, 'Sign in');
    for (const cookie of late.filter((value) => value.includes('_session')))
      t.is((await new BrowserOfCluster(node).get(account, { cookie })).status, 303);
  }
  remove(nodes, prepared);
}

interface Stored {
  readonly database: TestDatabase;
  readonly address: string;
  readonly besides: readonly string[];
  /** Of the users. */
  readonly count: number;
}

/** Ends the nodes, which write their last audit events, and looks for the users in all tables. */
async function nothingIsStored(
  t: ExecutionContext,
  { cluster, one, two }: Nodes,
  { database, address, besides, count }: Stored,
): Promise<void> {
  for (const node of [one, two]) await cluster.stop(node);
  const contents = await contentsOf(database, address);
  // The ends of the users stay, because an id may be given to somebody else.
  const ends = contents
    .get('gatehouse_revocations')
    ?.filter((row) => JSON.stringify(row).includes('-erased'));
  t.is(ends?.length, count);
  for (const table of ['gatehouse_revocations', ...besides]) contents.delete(table);
  t.notRegex(JSON.stringify([...contents]), /-erased/);
  t.deepEqual(contents.get('gatehouse_credentials'), []);
  t.deepEqual(contents.get('gatehouse_grants'), []);
}

onEachDatabase(
  'of ten users who are erased while both nodes store something of them, nothing is stored and nothing works',
  async (t, database, address) => {
    const nodes = await startNodes(t, address);
    const requests = Object.values(REQUESTS).filter(([call]) => call !== 'sessions.insert');
    const all = await Promise.all(Array.from({ length: 10 }, async (_, number) => prepare(nodes, number)));
    await Promise.all(
      all.map(async (prepared) => {
        remove(nodes, prepared);
        const running = requests.map(async ([, send]) => send(nodes, prepared).catch(() => []));
        await nodes.one.auth.userData.erase(prepared.user.id);
        await nothingWorks(t, nodes, prepared, (await Promise.all(running)).flat());
      }),
    );
    await nothingIsStored(t, nodes, { database, address, besides: [], count: all.length });
  },
);

onEachDatabase(
  `what is stored after its user was erased is not stored: ${Object.keys(REQUESTS).join(', ')}`,
  async (t, database, address) => {
    const nodes = await startNodes(t, address);
    const waiting: { prepared: Prepared; running: ReturnType<Send>; resume: () => void }[] = [];
    for (const [number, [call, send]] of Object.values(REQUESTS).entries()) {
      const prepared = await prepare(nodes, number);
      const paused = nodes.pause(call);
      waiting.push({ prepared, running: send(nodes, prepared).catch(() => []), resume: paused.resume });
      await paused.reached;
    }
    await Promise.all(
      waiting.map(async ({ prepared, resume, running }) => {
        remove(nodes, prepared);
        await nodes.one.auth.userData.erase(prepared.user.id);
        resume();
        await nothingWorks(t, nodes, prepared, await running);
      }),
    );
    // What the request has done is recorded after the erasure has waited for such events, and erased with a repetition.
    await nothingIsStored(t, nodes, {
      database,
      address,
      besides: ['gatehouse_audit'],
      count: waiting.length,
    });
  },
);
