import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { contentsOf } from '../adapters/contents.ts';
import { sqlite } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, authorizeUrl, signedIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { clientToken, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { familiesOf } from './families.ts';

// Two nodes with one issuer.
const LAG = 10;
const options = { storage: memoryStorage(), tokens: { revocationLag: LAG } };
const started = shared(async (stack) => {
  const here = stack.use(await startPlatform(options));
  const there = stack.use(await startPlatform({ ...options, issuer: here.origin, users: here.users }));
  const app = await here.registerApp({ firstParty: true });
  const other = await here.registerApp({ name: 'Other', firstParty: true });
  const { family, serviceToken, guard, canRefresh } = familiesOf(here, app);
  const { guard: guardThere } = familiesOf(there, app);
  return { here, there, app, other, family, serviceToken, guard, canRefresh, guardThere };
});

const REVOKED = { here: 'token_revoked', there: 'token_revoked' };
const GONE = { here: 'token_holder_gone', there: 'token_holder_gone' };

/** Runs `act` while both nodes have cached the token; returns the results: here at once, there after the lag. */
async function seenBy(
  token: string,
  act: () => Promise<unknown>,
): Promise<{ here: unknown; there: unknown }> {
  const { guard, guardThere } = await started();
  const before = [await guard(token), await guardThere(token)];
  if (before.some((answer) => answer !== 200)) throw new Error(`refused before: ${before.join()}`);
  await act();
  const atOnce = await guard(token);
  passTime(LAG);
  return { here: atOnce, there: await guardThere(token) };
}

/** Adds a user who signs in here. */
async function addUser(id: string): Promise<Browser> {
  const { here } = await started();
  const email = `${id}@school.example`;
  here.users.all.push({ id, name: id, email, password: 'p', permissions: [] });
  return signedIn(here, email, 'p');
}

async function removeUser(id: string): Promise<void> {
  const { here } = await started();
  const { all } = here.users;
  all.splice(
    all.findIndex((one) => one.id === id),
    1,
  );
}

test.serial('a code of one node can be redeemed on the other, and refreshed on the first', async (t) => {
  const { there, app, here, guard } = await started();
  const { status, body } = await exchangeCode(there, app, (await authorize(here, app)).get('code'));
  t.is(status, 200);
  t.is(await guard(body.access_token), 200);
  t.is((await exchangeRefreshToken(here, app, body.refresh_token)).status, 200);
});

test.serial('a session of one node works on the other', async (t) => {
  const { here, there, app } = await started();
  const cookie = (await signedIn(here)).cookieField;
  const page = await new Browser().get(authorizeUrl(there, app), { cookie });
  t.truthy(page.location?.searchParams.get('code'));
});

type Target = Parameters<Platform['auth']['revoke']>[0];

interface Revocation {
  readonly targetOf: (token: string) => Target;
  /** Which tokens are spared: of the same grant, user, client, and none of these. */
  readonly spared: readonly [ofGrant: boolean, ofUser: boolean, ofClient: boolean, ofOthers: boolean];
}

/** What is revoked of an access token. */
const REVOCATIONS: Readonly<Record<string, Revocation>> = {
  'auth.revoke({ token }) revokes an access token alone': {
    targetOf: (token) => ({ token }),
    spared: [true, true, true, true],
  },
  'auth.revoke({ grantId }) revokes the tokens of the grant': {
    targetOf: (token) => ({ grantId: decodeJwt(token)['grant_id'] as string }),
    spared: [false, true, true, true],
  },
  'auth.revoke({ userId }) revokes the tokens for the user and ends the sessions': {
    targetOf: (token) => ({ userId: decodeJwt(token).sub! }),
    spared: [false, false, true, true],
  },
  'auth.revoke({ clientId }) revokes the tokens of the client for all users': {
    targetOf: (token) => ({ clientId: decodeJwt(token)['client_id'] as string }),
    spared: [false, true, false, true],
  },
  'auth.revoke({ all }) revokes everything': {
    targetOf: () => ({ all: true }),
    spared: [false, false, false, false],
  },
};

for (const [title, { spared, targetOf }] of Object.entries(REVOCATIONS)) {
  const [ofGrant, ofUser, ofClient, ofOthers] = spared;
  test.serial(`${title}, at once here, and within tokens.revocationLag there`, async (t) => {
    const { family, app, other, here, canRefresh, guard } = await started();
    const browser = await addUser('hal');
    const { access, refresh } = await family(app, browser);
    const others = [
      [await family(other, browser), other, ofUser],
      [await family(app), app, ofClient],
      [await family(other), other, ofOthers],
    ] as const;
    t.deepEqual(await seenBy(access, () => here.auth.revoke(targetOf(access))), REVOKED);
    t.is(await canRefresh(refresh), ofGrant);
    for (const [{ access: token, refresh: next }, by, isSpared] of others) {
      t.is(await guard(token), isSpared ? 200 : 'token_revoked');
      t.is(await canRefresh(next, by), isSpared);
    }
    const { heading } = await browser.open(authorizeUrl(here, app));
    t.is(heading === 'Sign in', !ofUser, 'the session');
    t.is(await guard((await family()).access), 200, 'users can authorize the app again');
    await removeUser('hal');
  });
}

test.serial(
  'tokens of a client for itself are revoked too, and those that it gets afterwards work',
  async (t) => {
    const { serviceToken, guardThere, there, here, guard } = await started();
    for (const targetOf of [
      (token: string) => ({ token }),
      (token: string) => ({ clientId: decodeJwt(token).sub! }),
      () => ({ all: true }) as const,
    ]) {
      const { service, token } = await serviceToken();
      t.is(await guardThere(await clientToken(there, service)), 200);
      t.deepEqual(await seenBy(token, () => here.auth.revoke(targetOf(token))), REVOKED);
      const next = await clientToken(here, service);
      await here.auth.revoke({ clientId: service.client.id });
      t.deepEqual([await guard(next), await guard(await clientToken(here, service))], ['token_revoked', 200]);
    }
  },
);

test.serial('auth.revoke({ token }) revokes the family of a refresh token, and an unused code', async (t) => {
  const { family, here, guard, canRefresh, app } = await started();
  const { access, refresh } = await family();
  await here.auth.revoke({ token: refresh });
  t.is(await guard(access), 'token_revoked');
  t.false(await canRefresh(refresh));
  const code = (await authorize(here, app)).get('code')!;
  await here.auth.revoke({ token: code });
  t.like(await exchangeCode(here, app, code), { status: 400, body: { error: 'invalid_grant' } });
  await t.notThrowsAsync(here.auth.revoke({ token: 'nonsense' }));
});

test.serial('tokens of a disabled or deleted client are refused on both nodes', async (t) => {
  const { here, serviceToken, family, guard, there } = await started();
  for (const how of ['disable', 'delete'] as const) {
    const own = await here.registerApp({ firstParty: true });
    const { service, token: ofService } = await serviceToken();
    for (const [token, { client }] of [
      [(await family(own)).access, own],
      [ofService, service],
    ] as const) {
      t.deepEqual(await seenBy(token, () => here.auth.clients[how](client.id)), GONE, how);
      if (how === 'delete') continue;
      await here.auth.clients.enable(client.id);
      t.is(await guard(token), 200);
      await here.auth.clients.disable(client.id);
    }
    t.is((await requestClientToken(there, service)).status, 401, how);
  }
});

// The lags of the caches of clients and of tokens must not add up.
test.serial(
  'a token of a disabled client is refused after the lag, however late it was cached',
  async (t) => {
    const { here, there, guardThere } = await started();
    const service = await here.registerService();
    const early = await clientToken(there, service);
    const late = await clientToken(there, service);
    t.is(await guardThere(early), 200);
    await here.auth.clients.disable(service.client.id);
    passTime(LAG - 2);
    await guardThere(late);
    passTime(3);
    t.is(await guardThere(early), 'token_holder_gone');
    t.is(await guardThere(late), 'token_holder_gone');
  },
);

test.serial(
  'tokens of a deleted user are refused after the lag, and at once with auth.revoke()',
  async (t) => {
    const { family, app, guard, here } = await started();
    const ida = await family(app, await addUser('ida'));
    const answers = await seenBy(ida.access, async () => removeUser('ida'));
    t.is(answers.there, 'token_holder_gone');
    t.is(await guard(ida.access), 'token_holder_gone');

    const jim = await family(app, await addUser('jim'));
    const revoked = await seenBy(jim.access, async () => {
      await removeUser('jim');
      await here.auth.revoke({ userId: 'jim' });
    });
    t.deepEqual(revoked, GONE);
  },
);

test('auth.revoke({ userId }) deletes what is stored of the logins', async (t) => {
  const address = await sqlite.cleared();
  await using platform = await startPlatform({ storage: knexStorage(address) });
  await signedIn(platform);
  const sessions = async (): Promise<number> =>
    (await contentsOf(sqlite, address)).get('gatehouse_sessions')!.length;
  t.is(await sessions(), 1);
  await platform.auth.revoke({ userId: '1' });
  t.is(await sessions(), 0);
});

test.serial('changed permissions and redirect URIs take effect after the lag', async (t) => {
  const { here, there } = await started();
  const service = await here.registerService(['view_schools']);
  const token = await clientToken(here, service);
  const own = await here.registerApp();
  t.is((await there.api('/schools', token)).status, 200);
  t.is((await new Browser().get(authorizeUrl(there, own))).status, 303);
  await here.auth.clients.update(service.client.id, { permissions: [] });
  await here.auth.clients.update(own.client.id, { redirectUris: ['https://reports.example/new'] });
  t.is((await here.api('/schools', token)).status, 403);
  passTime(LAG);
  const { status, body } = await there.api('/schools', token);
  t.is(status, 403);
  t.is(body['message'], 'Missing permission to view schools.');
  t.is((await new Browser().get(authorizeUrl(there, own))).status, 400);
});

test.serial('an invalid target is refused', async (t) => {
  const { family, app, here, guard } = await started();
  const { access } = await family();
  for (const target of [
    {},
    { token: undefined },
    { clientId: '' },
    { grantId: 1 },
    { userId: '1', clientId: app.client.id },
    { all: false },
    { all: true, userId: '1' },
    '1',
    null,
  ]) {
    await t.throwsAsync(here.auth.revoke(target as never), {
      code: 'ERR_CONFIG',
      message:
        'revoke(): pass one of { token }, { grantId }, { userId } and { clientId }, with a string, or { all: true }',
    });
  }
  await t.throwsAsync(here.auth.revoke({ user: '1' } as never), {
    code: 'ERR_CONFIG',
    message:
      'revoke({ user }): there is no such option; did you mean userId? The options are token, grantId, userId, clientId, all',
  });
  t.is(await guard(access), 200);
});
