import { randomUUID } from 'node:crypto';

import test from '../harness/test.ts';
import { personalTokens as withTokens, GatehouseError } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { around, pausable } from '../harness/storage.ts';
import { aSession } from '../storage/rows.ts';

const TOKEN = { userId: '1', name: 'Nightly import', lifetime: '1 day', scopes: ['schools:read'] } as const;

/** What is exported of the user 1 after an erasure, but for events. */
const NOTHING = {
  userId: '1',
  assignment: { roles: [], permissions: [] },
  sessions: [],
  consents: [],
  grants: [],
  personalTokens: [],
  trustedIssuers: [],
  ownedClients: [],
};

/** An app with a connection, a login session and a personal access token of Ann. */
async function useEverything(
  platform: Platform,
): Promise<{ access: string; refresh: string; value: string }> {
  const app = await platform.registerApp();
  const { body } = await runCodeFlow(platform, app);
  const { value } = await platform.auth.personalTokens.create(TOKEN);
  return { access: body.access_token, refresh: body.refresh_token, value };
}

async function works(platform: Platform, ...tokens: readonly string[]): Promise<boolean[]> {
  return Promise.all(tokens.map(async (token) => (await platform.api('/identity', token)).status === 200));
}

test('grants lists what acts for a user, and ends each of them', async (t) => {
  await using platform = await startPlatform({ features: [withTokens()] });
  const { access, value } = await useEverything(platform);
  const { userGrants: grants } = platform.auth;
  const { clients: apps, personalTokens = [], sessions } = await grants.list('1');
  const [app, connection] = [apps[0]!, apps[0]!.grants[0]!];
  for (const { length } of [apps, app.grants, personalTokens, sessions]) t.is(length, 1);
  t.deepEqual(await grants.list('2'), { clients: [], personalTokens: [], sessions: [], moreSessions: false });
  const targets = [
    { grantId: connection.id },
    { personalTokenId: personalTokens[0]!.id },
    { sessionId: sessions[0]!.id },
    { clientId: app.client.id },
  ] as const;
  for (const target of targets) t.false(await grants.revoke('2', target));
  t.deepEqual(await works(platform, access, value), [true, true]);
  for (const target of targets) t.true(await grants.revoke('1', target));
  for (const target of targets) t.false(await grants.revoke('1', target));
  t.deepEqual(await works(platform, access, value), [false, false]);
  t.deepEqual(await grants.list('1'), { clients: [], personalTokens: [], sessions: [], moreSessions: false });
  for (const wrong of [{}, { userId: '1' }, { clientId: '' }, { clientId: 'a', sessionId: 'b' }])
    await t.throwsAsync(grants.revoke('1', wrong as never), {
      code: 'ERR_CONFIG',
      message: /userGrants\.revoke\(/,
    });
});

onEachDatabase(
  'an erased user is nowhere, and a login under way does not bring the user back',
  async (t, _database, address) => {
    const { pause, storage } = pausable(knexStorage(address));
    await using platform = await startPlatform({ storage, features: [withTokens()] });
    const { auth, users } = platform;
    const { access, refresh, value } = await useEverything(platform);
    await auth.issueToken({ clientId: (await platform.registerApp()).client.id, userId: '2' });
    const exported = await auth.userData.export('1');
    t.like(exported, { userId: '1', ownedClients: [] });
    const { consents, grants, personalTokens = [], sessions } = exported;
    for (const { length } of [consents, grants, personalTokens, sessions]) t.is(length, 1);
    t.true(exported.audit.some(({ type }) => type === 'personal_token_created'));
    for (const secret of [access, refresh, value]) t.false(JSON.stringify(exported).includes(secret));

    // A login that has checked the password, and a token that is being created.
    const { reached, resume } = pause('sessions.insert');
    const browser = new Browser(platform.reach);
    const login = signIn(browser, await browser.open(platform.url('/account/tokens')));
    await reached;
    const creation = pause('personalTokens.insert');
    const creating = auth.personalTokens.create(TOKEN);
    await creation.reached;
    const [ann] = users.all.splice(0, 1);
    t.true((await auth.userData.erase('1')) > 5);
    resume();
    creation.resume();
    const page = await login;
    t.is(page.heading, 'Sign in');
    const { value: late } = await creating;
    t.deepEqual(await works(platform, access, value, late), [false, false, false]);

    // What they would have inserted is not stored; the events of requests that take so long are gone with a repetition.
    const { audit: events, ...stored } = await auth.userData.export('1');
    t.deepEqual(stored, NOTHING);
    t.true(events.length > 0);
    await auth.userData.erase('1');
    users.all.unshift(ann!);
    t.is((await browser.open(platform.url('/account/tokens'))).heading, 'Sign in');
    t.deepEqual(await works(platform, access, value, late), [false, false, false]);
    const { audit, ...rest } = await auth.userData.export('1');
    t.deepEqual(rest, NOTHING);
    t.true(audit.every(({ type }) => type === 'login_failed'));
    t.true((await auth.audit.list({ types: ['user_erased'] })).length >= 1);
    t.is((await auth.userData.export('2')).grants.length, 1);
    await t.throwsAsync(auth.userData.erase(''), { code: 'ERR_CONFIG' });
    const again = (await auth.personalTokens.create(TOKEN)).value;
    t.deepEqual(await works(platform, again), [true], 'the id may be used again');
  },
);

test('an erasure of a user who logs in again and again says that it is not complete', async (t) => {
  const storage = memoryStorage();
  let isLoggingIn = true;
  const again = around(storage, async (name, call) => {
    await call();
    if (name === 'userData.erase' && isLoggingIn) {
      const sequence = await storage.revocations.latestSequence();
      const id = randomUUID();
      await storage.sessions.insert(aSession({ id, uid: id, userId: '1', expiresAt: 9e9, sequence }));
    }
  });
  await using platform = await startPlatform({ storage: { ...storage, userData: again.userData } });
  const { userData } = platform.auth;
  const erased: string[] = [];
  platform.auth.events.on('user_erased', ({ type }) => erased.push(type));
  const error = await t.throwsAsync<GatehouseError>(userData.erase('1'), {
    instanceOf: GatehouseError,
    code: 'ERR_ERASURE_INCOMPLETE',
    message: /is not complete: .* Remove the user from your user table, .* and repeat the call\./,
  });
  t.is(error.status, 409);
  t.deepEqual(erased, []);
  isLoggingIn = false;
  t.is(await userData.erase('1'), 1);
  t.deepEqual(erased, ['user_erased']);
});
