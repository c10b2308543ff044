import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase, onEachEmptyDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { disconnect, runCodeFlow, signedIn, signIn } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { ON_LOOPBACK, servePublic } from '../harness/public-server.ts';
import { postForm } from '../harness/requests.ts';
import { until } from '../harness/until.ts';
import { issue, SECRET } from './laravel.ts';
import { codeOf, moveIn, startLaravel } from './moved-platform.ts';
import type { Laravel } from './moved-platform.ts';

const CREDENTIALS = { client_id: '7', client_secret: SECRET };

/** Waits until the old server knows. */
async function marked(laravel: Laravel, token: { id: string; refreshId: string }): Promise<void> {
  await until(async () => (await isMarked(laravel, token)).every(Boolean));
}

/** Whether the rows of a token are marked at the old server. */
async function isMarked(
  { database }: Laravel,
  { id, refreshId }: { id: string; refreshId: string },
): Promise<boolean[]> {
  const [access] = await database('oauth_access_tokens').where({ id });
  const [refresh] = await database('oauth_refresh_tokens').where({ id: refreshId });
  return [Boolean(access.revoked), Boolean(refresh.revoked)];
}

const WAYS: Readonly<Record<string, (platform: Platform, token: string) => Promise<unknown>>> = {
  'auth.revoke({ token })': async ({ auth }, token) => auth.revoke({ token }),
  'auth.revoke({ userId })': async ({ auth }) => auth.revoke({ userId: '42' }),
  'auth.revoke({ clientId })': async ({ auth }) => auth.revoke({ clientId: '7' }),
  'the revocation endpoint': async ({ origin }, token) =>
    postForm(`${origin}/oauth/revoke`, { ...CREDENTIALS, token }),
  'disconnecting the app': async (platform) => {
    const browser = await signedIn(platform, '42@school.example', 'password of 42');
    await disconnect(browser, await browser.open(platform.url('/account/apps')));
  },
};

onEachEmptyDatabase(
  'what ends a token here, used or not, ends it at the old server too',
  async (t, { client }, address) => {
    for (const [way, revoke] of Object.entries(WAYS)) {
      for (const isUsed of client === 'better-sqlite3' ? [true, false] : [false]) {
        await using laravel = await startLaravel('11', { client, address });
        await using platform = await moveIn(laravel);
        const issuedAt = Math.floor(Date.now() / 1000) - 60;
        const token = await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
        const ofOther = await issue(laravel.database, { clientId: 7, userId: 7, issuedAt });
        if (isUsed) t.is(await codeOf(platform, token.accessToken), undefined);
        await revoke(platform, token.accessToken);
        t.is(await codeOf(platform, token.accessToken), 'token_revoked', way);
        await marked(laravel, token);

        const isWholeClient = way === 'auth.revoke({ clientId })';
        t.is(await codeOf(platform, ofOther.accessToken), isWholeClient ? 'token_revoked' : undefined);
        if (isWholeClient) await marked(laravel, ofOther);
        else t.deepEqual(await isMarked(laravel, ofOther), [false, false]);
        // One that the old server issues afterwards. By its clock the end of a user or a client lasts some seconds longer.
        const next = await issue(laravel.database, { clientId: 7, userId: 42 });
        if (!/user|client/.test(way)) t.is(await codeOf(platform, next.accessToken), undefined, way);
      }
    }
  },
);

onEachDatabase('a token of Passport ends at a fraction of a second', async (t, _, address) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel, { storage: knexStorage(address) });
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  await platform.auth.revoke({ token: accessToken });
  t.is(await codeOf(platform, accessToken), 'token_revoked');
});

test('the end of all tokens here marks none at the old server', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  const issuedAt = Math.floor(Date.now() / 1000) - 60;
  const token = await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
  await platform.auth.revoke({ all: true });
  t.is(await codeOf(platform, token.accessToken), 'token_revoked');
  t.deepEqual(await isMarked(laravel, token), [false, false]);
});

test('where the old tables are read only, tokens are ended here', async (t) => {
  for (const [way, revoke] of Object.entries(WAYS)) {
    await using laravel = await startLaravel('11', { options: { readOnly: true } });
    await using platform = await moveIn(laravel);
    const issuedAt = Math.floor(Date.now() / 1000) - 60;
    const used = await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
    const unused = await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
    t.is(await codeOf(platform, used.accessToken), undefined);
    await revoke(platform, used.accessToken);
    t.is(await codeOf(platform, used.accessToken), 'token_revoked', way);
    t.deepEqual(await isMarked(laravel, used), [false, false]);
    const isOne = way.includes('token') || way.includes('endpoint');
    t.is(await codeOf(platform, unused.accessToken), isOne ? undefined : 'token_revoked', way);
    t.regex(JSON.stringify(platform.logger.lines), /tables cannot be written/);
  }
});

test('a grant, a disabled app, a user who was removed, and introspection', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  const issued = await issue(laravel.database, {
    clientId: 7,
    userId: 42,
    scopes: ['orders:read'],
  });
  const token = issued.accessToken;
  const introspect = async (): Promise<Record<string, unknown> | undefined> =>
    (await postForm(`${platform.origin}/oauth/introspect`, { ...CREDENTIALS, token })).body;
  const found = await introspect();
  t.like(found, { active: true, client_id: '7', sub: '42', scope: 'orders:read', principal: 'user' });
  t.is(found?.['iss'], platform.origin);
  t.true(Number.isInteger(found?.['exp']) && Number.isInteger(found?.['iat']));

  await platform.auth.clients.disable('7');
  t.is(await codeOf(platform, token), 'token_holder_gone');
  const isRevoked = async (): Promise<unknown> =>
    (await laravel.database('oauth_clients').where({ id: 7 }))[0].revoked;
  await until(async () => (await isRevoked()) === 1);
  await platform.auth.clients.enable('7');
  t.is(await codeOf(platform, token), undefined);
  await until(async () => (await isRevoked()) === 0);

  const row = laravel.database('oauth_clients').where({ id: 7 });
  await row.clone().update({ revoked: true });
  await platform.auth.clients.update('7', { name: 'Another name' });
  t.is((await row.clone())[0].revoked, 1, 'only what disables it here is written there');
  await row.clone().update({ revoked: false });

  await platform.auth.revoke({ grantId: `passport-access-${issued.id}` });
  t.is(await codeOf(platform, token), 'token_revoked');
  await marked(laravel, issued);
  t.deepEqual(await introspect(), { active: false });

  const other = await issue(laravel.database, { clientId: 7, userId: 42 });
  t.is(await codeOf(platform, other.accessToken), undefined);
  platform.users.all.splice(
    platform.users.all.findIndex((user) => user.id === '42'),
    1,
  );
  await until(async () => (await codeOf(platform, other.accessToken)) === 'token_holder_gone');
  await until(async () => (await isMarked(laravel, other))[0] === true);
});

test('the app is listed with its date before it has called anything', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  await laravel.database('oauth_access_tokens').delete();
  await issue(laravel.database, {
    clientId: 7,
    userId: 42,
    issuedAt: Date.UTC(2025, 4, 6) / 1000,
    expiresIn: 1e9,
    scopes: ['orders:read'],
  });
  const browser = new Browser(platform.reach);
  const page = await signIn(
    browser,
    await browser.open(platform.url('/account/apps')),
    '42@school.example',
    'password of 42',
  );
  t.regex(page.text, /Demo Authorized May 6, 2025 It can: See schools/);
});

test('apps are told that their users were signed out here', async (t) => {
  await using laravel = await startLaravel('11');
  await using app = await servePublic((_request, response) => void response.writeHead(200).end());
  await using platform = await moveIn(laravel, { openid: true, mounting: ON_LOOPBACK });
  const { auth } = platform;
  const told = await platform.registerApp({
    backchannelLogoutUri: `${app.at('told.apps.example')}/logout`,
  });
  const ends: readonly (() => Promise<unknown>)[] = [
    async () => auth.userGrants.revoke('1', { clientId: told.client.id }),
    async () => auth.revoke({ userId: '1' }),
  ];
  for (const [index, end] of ends.entries()) {
    await runCodeFlow(platform, told, { parameters: { scope: 'openid' } });
    await end();
    await until(() => app.requests.length > index);
    t.is(app.requests.length, index + 1);
  }
});

// What ends all of a user or a client comes last.
const isOfMany = ([way]: readonly [string, unknown]): number => Number(/user|client/.test(way));

onEachDatabase('what has ended is refused here before the old server knows it', async (t, _, address) => {
  for (const [way, revoke] of Object.entries(WAYS).toSorted((a, b) => isOfMany(a) - isOfMany(b))) {
    await using laravel = await startLaravel('11');
    const held = Promise.withResolvers<void>();
    const source = {
      ...laravel.source,
      async revoke(...of: Parameters<typeof laravel.source.revoke>) {
        await held.promise;
        await laravel.source.revoke(...of);
      },
    };
    await using platform = await moveIn({ ...laravel, source }, { storage: knexStorage(address) });
    const token = await issue(laravel.database, {
      clientId: 7,
      userId: 42,
      issuedAt: Math.floor(Date.now() / 1000) - 60,
    });
    await revoke(platform, token.accessToken);
    t.is(await codeOf(platform, token.accessToken), 'token_revoked', way);
    const { body } = await platform.token({
      grant_type: 'refresh_token',
      ...CREDENTIALS,
      refresh_token: token.refreshToken,
    });
    t.is(body.error, 'invalid_grant', way);
    for (const sent of [token.accessToken, token.refreshToken]) {
      const asked = await postForm(`${platform.origin}/oauth/introspect`, { ...CREDENTIALS, token: sent });
      t.deepEqual(asked.body, { active: false }, way);
    }
    const { clients: apps } = await platform.auth.userGrants.list('42');
    t.deepEqual(
      apps.flatMap(({ grants }) => grants),
      [],
      way,
    );
    if (way === 'disconnecting the app') t.deepEqual(apps, []);
    t.deepEqual(await isMarked(laravel, token), [false, false], way);
    held.resolve();
    await marked(laravel, token);
    t.is(await codeOf(platform, token.accessToken), 'token_revoked', way);
  }
});
