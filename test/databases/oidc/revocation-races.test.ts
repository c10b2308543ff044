import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { Browser } from '../../harness/browser.ts';
import type { Page } from '../../harness/browser.ts';
import { passTime } from '../../harness/clock.ts';
import { authorizeUrl, runCodeFlow, signIn, startPlatform } from '../../harness/platform.ts';
import type { Platform, RegisteredApp } from '../../harness/platform.ts';
import { pausable } from '../../harness/storage.ts';
import type { PausableStorage } from '../../harness/storage.ts';
import { asClient, requestClientToken } from '../../harness/tokens.ts';
import { hashCredential } from '../../../lib/keys/hash.ts';
import { startTwo } from '../../harness/cluster.ts';
import { endWith } from '../../harness/serve.ts';

const ANN = { login: 'ann@school.example', password: 'correct horse' };
const ROUNDS = 5;

/** Two nodes with one issuer and one database. The calls of the storage of the first one can be paused. */
interface Nodes {
  readonly t: ExecutionContext;
  readonly here: Platform;
  readonly there: Platform;
  readonly storage: PausableStorage['storage'];
  readonly pause: PausableStorage['pause'];
  readonly app: RegisteredApp;
  /** A browser whose requests reach the other node. */
  readonly elsewhere: () => Browser;
}

function onTwoNodes(title: string, run: (nodes: Nodes) => Promise<void>): void {
  onEachDatabaseInSeries(title, async (t, _database, address) => {
    const { storage, pause } = pausable(knexStorage(address));
    const { here, there } = await startTwo([storage, knexStorage(address)], async (node) =>
      endWith(t, await startPlatform({ ...node, tokens: { revocationLag: 1 } })),
    );
    const app = await here.registerApp({ firstParty: true });
    const toThere = (url: URL): URL =>
      url.origin === here.origin ? new URL(url.pathname + url.search, there.origin) : url;
    await run({ t, here, there, storage, pause, app, elsewhere: () => new Browser(toThere) });
  });
}

async function loggedIn({ here, app }: Nodes): Promise<Browser> {
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(here, app)));
  return browser;
}

/** Whether a session cookie works, on either node. */
async function cookieWorks({ here, elsewhere, app }: Nodes, cookie: string): Promise<boolean> {
  for (const browser of [new Browser(), elsewhere()]) {
    const page = await browser.get(authorizeUrl(here, app), { cookie });
    if (page.location?.searchParams.has('code')) return true;
  }
  return false;
}

/** Whether a redirect has a code, and the code gives tokens that work. */
async function givesTokens({ here, app }: Nodes, page: Page): Promise<boolean> {
  const code = page.location?.searchParams.get('code');
  if (code === null || code === undefined) return false;
  const exchange = { grant_type: 'authorization_code', redirect_uri: app.redirectUri, code };
  const { body } = await here.token({ ...exchange, ...asClient(app) });
  return body.access_token !== undefined && (await here.api('/identity', body.access_token)).status === 200;
}

/** Lets the browser's session end in an hour, unless it is used. */
async function endSoon({ storage: { sessions } }: Nodes, { cookies }: Browser): Promise<void> {
  const { value } = cookies.find(({ name }) => name.includes('session') && !name.endsWith('.sig'))!;
  const id = hashCredential(value);
  const { session } = (await sessions.find(id))!;
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  await sessions.update({ ...session, payload: { ...session.payload, exp: expiresAt }, expiresAt });
}

async function logOut({ here, elsewhere }: Nodes, cookie: string): Promise<void> {
  const url = new URL(`${here.origin}/oauth/logout`);
  const { status } = await elsewhere().post(url, new URLSearchParams(), { cookie });
  if (status !== 200) throw new Error(`signing out: ${status}`);
}

onTwoNodes('an authorization that is paused at any call gives no code after a logout', async (nodes) => {
  const { t, here, pause, app } = nodes;
  const other = await here.registerApp({ name: 'Other', firstParty: true });
  for (const [call, asking] of [
    ['sessions.find', app],
    ['grants.insert', app],
    ['grants.insert', other],
    ['sessions.update', app],
  ] as const) {
    const browser = await loggedIn(nodes);
    const cookie = browser.cookieField;
    // The session is updated when its end moves by hours.
    if (call === 'sessions.update') await endSoon(nodes, browser);
    const { reached, resume } = pause(call);
    const answer = browser.get(authorizeUrl(here, asking));
    await reached;
    await logOut(nodes, cookie);
    resume();
    const page = await answer;
    t.is(page.status, 303, call);
    t.is(page.location?.searchParams.get('code') ?? undefined, undefined, call);
    t.deepEqual(page.response.headers.getSetCookie(), []);
    t.is((await browser.follow(page)).heading, 'Sign in');
    t.false(await cookieWorks(nodes, cookie));
  }
});

onTwoNodes(
  'a copied session that is used during auth.revoke({ userId }) on another node ends',
  async (nodes) => {
    const { t, here, there, app } = nodes;
    for (let round = 0; round < ROUNDS; round += 1) {
      const copied = (await loggedIn(nodes)).cookieField;
      const attempts = Array.from({ length: 3 }, async () =>
        new Browser().get(authorizeUrl(here, app), { cookie: copied }),
      );
      const [pages] = await Promise.all([Promise.all(attempts), there.auth.revoke({ userId: '1' })]);
      t.false(await cookieWorks(nodes, copied), `round ${round}`);
      for (const page of pages) t.false(await givesTokens(nodes, page), `round ${round}`);
    }
  },
);

onTwoNodes('a code that is stored after its user or client is revoked gives no tokens', async (nodes) => {
  const { t, here, there, pause, app } = nodes;
  for (const target of [{ userId: '1' }, { clientId: app.client.id }]) {
    const browser = await loggedIn(nodes);
    const { reached, resume } = pause('grants.insert');
    const answer = browser.get(authorizeUrl(here, app));
    await reached;
    await there.auth.revoke(target);
    resume();
    t.false(await givesTokens(nodes, await answer), JSON.stringify(target));
  }
  const browser = await loggedIn(nodes);
  t.true(await givesTokens(nodes, await browser.get(authorizeUrl(here, app))), 'a later authorization works');
});

onTwoNodes('a refresh during auth.revoke() of the user or the client gives no tokens', async (nodes) => {
  const { t, here, there, pause, app } = nodes;
  for (const target of [{ userId: '1' }, { clientId: app.client.id }]) {
    const { body } = await runCodeFlow(here, app);
    const { reached, resume } = pause('grants.redeem');
    const refresh = { grant_type: 'refresh_token', ...asClient(app) };
    const answer = here.token({ ...refresh, refresh_token: body.refresh_token });
    await reached;
    await there.auth.revoke(target);
    resume();
    const late = await answer;
    t.is(late.status, 400, JSON.stringify(target));
    t.is((await here.token({ ...refresh, refresh_token: body.refresh_token })).body.error, 'invalid_grant');
    t.is((await there.api('/identity', body.access_token)).body['code'], 'token_revoked');
  }
});

onTwoNodes('auth.revoke({ userId }) ends a login at each of its moments', async (nodes) => {
  const { t, here, there, pause, app } = nodes;
  const revoke = async (): Promise<void> => there.auth.revoke({ userId: '1' });
  const verifyPassword = here.users.verifyPassword.bind(here.users);
  const moments: Readonly<Record<string, (submit: () => Promise<Page>) => Promise<unknown>>> = {
    // A host revokes the user when the password changes.
    async 'the password is being checked'(submit) {
      here.users.verifyPassword = async (login, password) => {
        const ann = await verifyPassword(login, password);
        await revoke();
        return ann;
      };
      await submit();
      here.users.verifyPassword = verifyPassword;
    },
    async 'the session is being stored'(submit) {
      const { reached, resume } = pause('sessions.insert');
      const answer = submit();
      await reached;
      await revoke();
      resume();
      await answer;
    },
    async 'the redirect was not followed'(submit) {
      t.is((await submit()).status, 303);
      await revoke();
    },
  };
  for (const [moment, run] of Object.entries(moments)) {
    for (const start of [authorizeUrl(here, app), here.url('/oauth/login')]) {
      const browser = new Browser();
      const form = await browser.open(start);
      await run(async () => browser.submit(form, 'Sign in', ANN));
      t.is((await browser.open(authorizeUrl(here, app))).heading, 'Sign in', `${moment}, ${start.pathname}`);
    }
  }
});

onTwoNodes(
  'auth.revoke({ clientId }) does not depend on the clocks of nodes, nor on whole seconds',
  async (nodes) => {
    const { t, here, there } = nodes;
    const service = await here.registerService();
    const ask = async (node: Platform): Promise<string> =>
      (await requestClientToken(node, service)).body.access_token;
    // A token of a node whose clock is ahead.
    passTime(5);
    const ofNodeAhead = await ask(there);
    passTime(-5);
    const before = await ask(here);
    await here.auth.revoke({ clientId: service.client.id });
    const after = await ask(here);
    t.is((await here.api('/identity', ofNodeAhead)).body['code'], 'token_revoked');
    t.is((await here.api('/identity', before)).body['code'], 'token_revoked');
    t.is((await here.api('/identity', after)).status, 200);
    t.is((await there.api('/identity', after)).status, 200);
    t.is((await there.api('/identity', before)).body['code'], 'token_revoked');
    t.is((await there.api('/identity', ofNodeAhead)).body['code'], 'token_revoked');
  },
);

onEachDatabaseInSeries(
  'a token is revoked when its client is revoked after the client authentication',
  async (t, _database, address) => {
    let meanwhile: (() => Promise<void>) | undefined;
    await using platform = await startPlatform({
      storage: knexStorage(address),
      tokens: {
        // Called after the client was authenticated.
        async claims() {
          await meanwhile?.();
          return undefined;
        },
      },
    });
    const service = await platform.registerService();
    const ask = async () => (await requestClientToken(platform, service)).body.access_token;
    meanwhile = async () => platform.auth.revoke({ clientId: service.client.id });
    const during = await ask();
    meanwhile = undefined;
    const after = await ask();
    t.is((await platform.api('/identity', during)).body['code'], 'token_revoked');
    t.is((await platform.api('/identity', after)).status, 200);
  },
);

onTwoNodes(
  'a client or user with the id of a deleted one gets no tokens and sessions of it',
  async (nodes) => {
    const { t, here, there, storage, app } = nodes;
    const service = await here.registerService();
    const ofService = await requestClientToken(here, service);
    const browser = new Browser();
    const ofUser = await runCodeFlow(here, app, { browser });
    const [ann] = here.users.all.splice(0, 1);
    for (const { client } of [app, service]) t.true(await there.auth.clients.delete(client.id));
    await there.auth.revoke({ userId: '1' });

    here.users.all.unshift(ann!);
    for (const { client } of [app, service]) await storage.clients.insert(client, []);
    passTime(2);
    for (const { body } of [ofService, ofUser])
      t.is((await here.api('/identity', body.access_token)).body['code'], 'token_revoked');
    t.is((await browser.open(authorizeUrl(here, app))).heading, 'Sign in');
  },
);
