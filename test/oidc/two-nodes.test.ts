import { decodeJwt } from 'jose';
import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { clientToken, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';

// Two nodes with one issuer.
const LAG = 10;
const storage = memoryStorage();
const here = await startPlatform({ storage, tokens: { revocationLag: LAG } });
const there = await startPlatform({
  storage,
  tokens: { revocationLag: LAG },
  issuer: here.origin,
  users: here.users,
});
const app = await here.registerApp({ firstParty: true });
test.after.always(() => Promise.all([here, there].map((node) => node[Symbol.asyncDispose]())));

async function guard(node: Platform, token: string): Promise<unknown> {
  const { status, body } = await node.api('/identity', token);
  return status === 200 ? 200 : body['code'];
}

/** Runs `act` while both nodes have cached the token; returns the results: here at once, there after the lag. */
async function seenBy(
  token: string,
  act: () => Promise<unknown>,
): Promise<{ here: unknown; there: unknown }> {
  const before = [await guard(here, token), await guard(there, token)];
  if (before.some((answer) => answer !== 200)) throw new Error(`refused before: ${before.join()}`);
  await act();
  const atOnce = await guard(here, token);
  passTime(LAG);
  return { here: atOnce, there: await guard(there, token) };
}

test.serial('a token of one node works on the other', async (t) => {
  const { body } = await runCodeFlow(here, app);
  t.is(await guard(there, body.access_token), 200);
  const service = await here.registerService();
  t.is(await guard(here, await clientToken(there, service)), 200);
});

test.serial('a code of one node can be redeemed on the other, and refreshed on the first', async (t) => {
  const callback = await authorize(here, app);
  const { status, body } = await exchangeCode(there, app, callback.get('code'));
  t.is(status, 200);
  const refreshed = await exchangeRefreshToken(here, app, body.refresh_token);
  t.is(refreshed.status, 200);
});

test.serial('a session of one node works on the other', async (t) => {
  const browser = new Browser();
  await authorize(here, app, { browser });
  const cookie = browser.cookies
    .filter(({ path }) => path === '/')
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
  const page = await new Browser().get(authorizeUrl(there, app), { cookie });
  t.truthy(page.location?.searchParams.get('code'));
});

const TARGETS: Readonly<Record<string, (token: string) => Parameters<Platform['auth']['revoke']>[0]>> = {
  token: (token) => ({ token }),
  grant: (token) => ({ grant: decodeJwt(token)['grant_id'] as string }),
  user: () => ({ user: '1' }),
  client: (token) => ({ client: decodeJwt(token)['client_id'] as string }),
  all: () => ({ all: true }),
};

for (const [kind, targetOf] of Object.entries(TARGETS)) {
  test.serial(
    `auth.revoke({ ${kind} }) takes effect at once here, and within tokens.revocationLag there`,
    async (t) => {
      const { body } = await runCodeFlow(here, app);
      const answers = await seenBy(body.access_token, () => here.auth.revoke(targetOf(body.access_token)));
      t.deepEqual(answers, { here: 'token_revoked', there: 'token_revoked' });
      const refreshed = await exchangeRefreshToken(there, app, body.refresh_token);
      t.is(refreshed.status, kind === 'token' ? 200 : 400);
    },
  );
}

test.serial('auth.revoke({ token }) and ({ client }) of client credentials do so too', async (t) => {
  for (const targetOf of [TARGETS['token']!, TARGETS['client']!, TARGETS['all']!]) {
    const token = await clientToken(there, await here.registerService());
    const answers = await seenBy(token, () => here.auth.revoke(targetOf(token)));
    t.deepEqual(answers, { here: 'token_revoked', there: 'token_revoked' });
  }
});

test.serial('a token that a client gets after auth.revoke({ client }) works', async (t) => {
  const service = await here.registerService();
  const old = await clientToken(here, service);
  await here.auth.revoke({ client: service.client.id });
  passTime(1);
  t.is(await guard(here, await clientToken(here, service)), 200);
  t.is(await guard(here, old), 'token_revoked');
});

test.serial('tokens of a disabled or deleted client are refused on both nodes', async (t) => {
  for (const how of ['disable', 'delete'] as const) {
    const own = await here.registerApp({ firstParty: true });
    const service = await here.registerService();
    const { body } = await runCodeFlow(here, own);
    for (const [token, { client }] of [
      [body.access_token, own],
      [await clientToken(here, service), service],
    ] as const) {
      const answers = await seenBy(token, () => here.auth.clients[how](client.id));
      t.deepEqual(answers, { here: 'token_holder_gone', there: 'token_holder_gone' }, how);
    }
    const refused = await requestClientToken(there, service);
    t.is(refused.status, 401, how);
  }
});

// The lags of the caches of clients and of tokens must not add up.
test.serial(
  'a token of a disabled client is refused after the lag, however late it was cached',
  async (t) => {
    const service = await here.registerService();
    const early = await clientToken(there, service);
    const late = await clientToken(there, service);
    t.is(await guard(there, early), 200);
    await here.auth.clients.disable(service.client.id);
    passTime(LAG - 2);
    await guard(there, late);
    passTime(3);
    t.is(await guard(there, early), 'token_holder_gone');
    t.is(await guard(there, late), 'token_holder_gone');
  },
);

test.serial(
  'tokens of a deleted user are refused after the lag, and at once with auth.revoke()',
  async (t) => {
    const people = here.users.all;
    const addUser = async (id: string): Promise<string> => {
      people.push({ id, name: id, email: `${id}@school.example`, password: 'p', permissions: [] });
      const browser = new Browser();
      await signIn(browser, await browser.open(authorizeUrl(here, app)), `${id}@school.example`, 'p');
      return (await runCodeFlow(here, app, { browser })).body.access_token;
    };
    const removeUser = (id: string): unknown =>
      people.splice(
        people.findIndex((one) => one.id === id),
        1,
      );

    const ida = await addUser('ida');
    const answers = await seenBy(ida, async () => removeUser('ida'));
    t.is(answers.there, 'token_holder_gone');
    t.is(await guard(here, ida), 'token_holder_gone');

    const jim = await addUser('jim');
    const revoked = await seenBy(jim, async () => {
      removeUser('jim');
      await here.auth.revoke({ user: 'jim' });
    });
    t.deepEqual(revoked, { here: 'token_holder_gone', there: 'token_holder_gone' });
  },
);

test.serial('changed permissions take effect after the lag', async (t) => {
  const service = await here.registerService(['view_schools']);
  const token = await clientToken(here, service);
  t.is((await there.api('/schools', token)).status, 200);
  await here.auth.clients.update(service.client.id, { permissions: [] });
  t.is((await here.api('/schools', token)).status, 403);
  passTime(LAG);
  const { status, body } = await there.api('/schools', token);
  t.is(status, 403);
  t.is(body['message'], 'Missing permission to view schools.');
});

test.serial('a rotated secret is refused after the lag', async (t) => {
  const service = await here.registerService();
  await clientToken(there, service);
  await here.auth.clients.rotateSecret(service.client.id);
  passTime(LAG);
  const { status } = await requestClientToken(there, service);
  t.is(status, 401);
});

test.serial('a removed redirect URI is refused after the lag', async (t) => {
  const own = await here.registerApp();
  t.is((await new Browser().get(authorizeUrl(there, own))).status, 303);
  await here.auth.clients.update(own.client.id, { redirectUris: ['https://reports.example/new'] });
  passTime(LAG);
  t.is((await new Browser().get(authorizeUrl(there, own))).status, 400);
});
