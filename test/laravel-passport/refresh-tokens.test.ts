import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

import test from '../harness/test.ts';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase, onEachDatabaseInSeries } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, disconnect, signIn } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { tally } from '../limits/platform.ts';
import { APP_KEY, issue, SECRET, vectors } from './laravel.ts';
import type { LaravelPassportSource, PassportStore } from '../../lib/features/laravel-passport/types.ts';
import { passportOf } from './store-contract.ts';
import { codeOf, moveIn, refresh, REFUSED, startLaravel } from './moved-platform.ts';

// Counts the derivations of keys. Before a server loads the module that derives them.
let derivations = 0;
let running = 0;
let mostRunning = 0;
const { pbkdf2 } = crypto;
crypto.pbkdf2 = (...given: Parameters<typeof pbkdf2>) => {
  const done = given.pop() as Parameters<typeof pbkdf2>[5];
  derivations += 1;
  running += 1;
  mostRunning = Math.max(mostRunning, running);
  pbkdf2(...(given as unknown as [string, string, number, number, string]), (error, key) => {
    running -= 1;
    done(error, key);
  });
};
syncBuiltinESMExports();

onEachDatabase(
  'of ten exchanges of one token at once on two nodes, all get the same family',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    const storage = knexStorage(address);
    await using one = await moveIn(laravel, { storage });
    await using other = await moveIn(laravel, { storage: knexStorage(address) });
    for (let round = 1; round <= 3; round += 1) {
      const { refreshToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
      const answers = await Promise.all(
        Array.from({ length: 10 }, async (_entry, index) =>
          refresh(index % 2 === 0 ? one : other, laravel, refreshToken),
        ),
      );
      t.is(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
      t.like(tally(answers), { 200: 10 });
      const grants = await storage.grants.list('42', { now: Math.floor(Date.now() / 1000), limit: 50 });
      t.is(grants.length, round);
    }
  },
);

onEachDatabase(
  'a token that the old server exchanges or revokes is not exchanged here, whatever was asked here before',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    const storage = knexStorage(address);
    await using platform = await moveIn(laravel, { storage });
    await using other = await moveIn(laravel, { storage: knexStorage(address) });
    const { client } = await platform.registerApp({ confidential: false });
    const introspect = async (token: string, by: Record<string, string>): Promise<unknown> =>
      (await postForm(`${other.origin}/oauth/introspect`, { ...by, token })).body;
    const ask: Readonly<Record<string, (token: string) => Promise<unknown>>> = {
      nothing: async () => {},
      'introspection by its client': async (token) =>
        t.like(await introspect(token, { client_id: '7', client_secret: SECRET }), { active: true }),
      'introspection by another one': async (token) =>
        t.deepEqual(await introspect(token, { client_id: client.id }), { active: false }),
      'exchange by another one': async (token) =>
        t.like(
          await platform.token({ grant_type: 'refresh_token', client_id: client.id, refresh_token: token }),
          REFUSED,
        ),
      'exchange for a scope that was not granted': async (token) =>
        t.like(await refresh(other, laravel, token, { scope: 'orders:write' }), {
          status: 400,
          body: { error: 'invalid_scope' },
        }),
    };
    for (const [what, asked] of Object.entries(ask)) {
      const { refreshId, refreshToken } = await issue(laravel.database, {
        clientId: 7,
        userId: 42,
        scopes: ['orders:read'],
      });
      await asked(refreshToken);
      const row = laravel.database('oauth_refresh_tokens').where({ id: refreshId });
      t.is((await row.clone())[0].revoked, 0, what);
      t.is(await storage.grants.find(`passport-refresh-${refreshId}`), undefined, what);
      await row.clone().update({ revoked: true });
      t.like(await refresh(platform, laravel, refreshToken), REFUSED, what);
      t.like(await refresh(other, laravel, refreshToken), REFUSED, what);
    }
  },
);

onEachDatabase(
  'of this server and the old one, which mark a token at the same time, one exchanges it',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    const { database, source } = laravel;
    let oldIsFirst = true;
    const racing: LaravelPassportSource = {
      ...source,
      async redeemRefreshToken(id, accessTokenId) {
        if (oldIsFirst) await database('oauth_refresh_tokens').where({ id }).update({ revoked: true });
        return source.redeemRefreshToken(id, accessTokenId);
      },
    };
    await using one = await moveIn({ ...laravel, source: racing }, { storage: knexStorage(address) });
    await using other = await moveIn(laravel, { storage: knexStorage(address) });
    const lost = await issue(database, { clientId: 7, userId: 42 });
    for (const platform of [one, other, one])
      t.like(await refresh(platform, laravel, lost.refreshToken), REFUSED);

    oldIsFirst = false;
    const won = await issue(database, { clientId: 7, userId: 42 });
    t.is((await refresh(one, laravel, won.refreshToken)).status, 200, 'and works again afterwards');
    t.is((await refresh(other, laravel, won.refreshToken)).status, 200);
  },
);

/** A storage and a source, whose nth change ends like the process: before it, or after it and before what follows. */
function dying(
  storage: Storage,
  source: LaravelPassportSource,
): { storage: Storage; source: LaravelPassportSource; dieAt(this: void, at: number, isDone: boolean): void } {
  let changes = Infinity;
  let isLate = false;
  const wrap = <T extends object>(store: T, ...names: readonly (keyof T)[]): T => ({
    ...store,
    ...Object.fromEntries(
      names.map((name) => [
        name,
        async (...given: readonly unknown[]) => {
          changes -= 1;
          const isNow = changes === 0;
          if (isNow && !isLate) throw new Error('killed');
          const result = await (store[name] as (...all: readonly unknown[]) => Promise<unknown>)(...given);
          if (isNow) throw new Error('killed');
          return result;
        },
      ]),
    ),
  });
  return {
    dieAt(at, isDone) {
      changes = at;
      isLate = isDone;
    },
    source: wrap(source, 'redeemRefreshToken'),
    storage: {
      ...storage,
      consents: wrap(storage.consents, 'add'),
      grants: wrap(storage.grants, 'insert', 'revoke', 'redeem'),
      revocations: wrap(storage.revocations, 'revokeToken'),
      store: ((name, make) => {
        const made = storage.store(name, make);
        return name === 'passport' ? wrap(made as unknown as PassportStore, 'mark') : made;
      }) as typeof storage.store,
    },
  };
}

onEachDatabaseInSeries(
  'a process that dies between any two steps of an exchange logs nobody out, and what the old server exchanges then is refused',
  async (t, _, address) => {
    const storage = knexStorage(address);
    await using laravel = await startLaravel('11');
    await using healthy = await moveIn(laravel, { storage });
    const { dieAt, ...parts } = dying(storage, laravel.source);
    await using mortal = await moveIn({ ...laravel, source: parts.source }, { storage: parts.storage });
    let deaths = 0;
    let exchangedThere = 0;
    for (const then of ['at once', 'late', 'late, after the old server'] as const) {
      for (let at = 1; at <= 7; at += 1) {
        for (const isDone of [false, true]) {
          const where = `${at} ${isDone ? 'after' : 'before'} ${then}`;
          const { id, refreshId, refreshToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
          dieAt(at, isDone);
          if ((await refresh(mortal, laravel, refreshToken)).status !== 200) deaths += 1;
          dieAt(Infinity, false);
          // Later than the grace, unless the first one was exchanged: then it is reused.
          const stored = await storage.grants.findCredential(
            'refresh_token',
            `passport-refresh-${refreshId}`,
          );
          const row = laravel.database('oauth_refresh_tokens').where({ id: refreshId });
          const wasMarked = Boolean((await row.clone())[0].revoked);
          const isUnclaimed = !(await (await passportOf(storage)).isMarked(`passport-claim-${refreshId}`));
          if (then !== 'at once' && stored?.spentFor === undefined) passTime(120);
          const isExchangedThere =
            then === 'late, after the old server' &&
            (await row.clone().where({ revoked: false }).update({ revoked: true })) === 1;
          if (isExchangedThere) exchangedThere += 1;
          const answer = await refresh(healthy, laravel, refreshToken);
          // The one moment that only the grace covers: the old row is marked, and that it was this server is not stored yet.
          const isUnknown = then !== 'at once' && wasMarked && isUnclaimed;
          t.is(answer.status, isExchangedThere || isUnknown ? 400 : 200, where);
          const families = await storage.grants.list('42', { now: Math.floor(Date.now() / 1000), limit: 99 });
          const own = families.filter((grant) => grant.id.endsWith(refreshId) || grant.id.endsWith(id));
          t.true(own.length <= 1, where);
        }
      }
    }
    t.true(deaths >= 30, String(deaths));
    t.true(exchangedThere >= 3, String(exchangedThere));
  },
);

test('a client of a grant that is not supported here keeps its tokens, and gets no others', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel, { grantType: 'device_code' });
  const personal = await issue(laravel.database, {
    clientId: 7,
    userId: 42,
    name: 'my phone',
    scopes: ['*'],
  });
  t.is((await platform.api('/schools', personal.accessToken)).status, 200);
  const { body } = await refresh(platform, laravel, personal.refreshToken);
  t.is((await platform.api('/schools', body.access_token)).status, 200);
  t.is((await refresh(platform, laravel, body.refresh_token)).status, 200);
  const password = { grant_type: 'password', client_id: '7', client_secret: SECRET };
  t.like(await platform.token({ ...password, username: '42@school.example', password: 'password of 42' }), {
    status: 400,
    body: { error: 'unsupported_grant_type' },
  });
});

test('what is not live any more is refused', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  await using closed = await moveIn(laravel, { passport: { until: new Date(Date.now() - 1000) } });
  const { database } = laravel;
  const issued = async (more: object = {}): ReturnType<typeof issue> =>
    issue(database, { clientId: 7, userId: 42, ...more });
  const tokens = database('oauth_refresh_tokens');

  const exchangedThere = await issued();
  await tokens.clone().where({ id: exchangedThere.refreshId }).update({ revoked: true });
  const purged = await issued();
  await tokens.clone().where({ id: purged.refreshId }).delete();
  for (const { refreshToken } of [exchangedThere, purged, await issued({ refreshExpiresIn: -1 })])
    t.like(await refresh(platform, laravel, refreshToken), REFUSED);

  const expired = await issued({ refreshExpiresIn: -1 });
  await platform.auth.revoke({ token: expired.refreshToken });
  const [row] = await tokens.clone().where({ id: expired.refreshId });
  t.is(row.revoked, 0, 'and it is not imported to be revoked');

  const { client, secret } = await platform.registerApp();
  const { refreshToken } = await issued();
  const stolen = { grant_type: 'refresh_token', refresh_token: refreshToken };
  t.like(await platform.token({ ...stolen, client_id: client.id, client_secret: secret }), REFUSED);
  t.like(await platform.token({ ...stolen, client_id: '7', client_secret: 'wrong' }), { status: 401 });
  t.like(await refresh(closed, laravel, refreshToken), REFUSED);
  t.is((await refresh(platform, laravel, refreshToken)).status, 200);

  // The row of its access token was purged: it is known from the token alone.
  const [orphan, second] = [await issued(), await issued()];
  await database('oauth_access_tokens').whereIn('id', [orphan.id, second.id]).delete();
  t.is((await refresh(platform, laravel, orphan.refreshToken)).status, 200);
  await platform.auth.revoke({ userId: '42' });
  t.like(await refresh(platform, laravel, second.refreshToken), REFUSED);

  const ofAdmin = await issued({ userId: 7 });
  await database('oauth_clients').where({ id: 7 }).update({ provider: 'admins' });
  t.like(await refresh(platform, laravel, ofAdmin.refreshToken), REFUSED);
});

test.serial('the token is the client’s once, and reuse after the grace ends the family', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  const { accessToken, refreshToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  t.is((await platform.api('/identity', accessToken)).status, 200);
  const { body } = await refresh(platform, laravel, refreshToken);
  const [event] = await platform.auth.audit.list({ types: ['token_issued'] });
  t.like(event, { clientId: '7', userId: '42', server: 'laravelPassport' });
  t.is((await platform.api('/identity', accessToken)).body['code'], 'token_revoked');
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  passTime(61);
  t.like(await refresh(platform, laravel, refreshToken), REFUSED);
  t.is((await platform.api('/identity', body.access_token)).body['code'], 'token_revoked');
  t.like(await refresh(platform, laravel, body.refresh_token), REFUSED);
});

test('revocation and introspection know a refresh token that was not exchanged', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  const credentials = { client_id: '7', client_secret: SECRET };
  const introspect = async (token: string): Promise<unknown> =>
    (await postForm(`${platform.origin}/oauth/introspect`, { ...credentials, token })).body;
  const ways: readonly ((token: string) => Promise<unknown>)[] = [
    async (token) => postForm(`${platform.origin}/oauth/revoke`, { ...credentials, token }),
    async (token) => platform.auth.revoke({ token }),
  ];
  for (const revoke of ways) {
    const { refreshId, refreshToken } = await issue(laravel.database, {
      clientId: 7,
      userId: 42,
      scopes: ['orders:read'],
    });
    t.like(await introspect(refreshToken), { active: true, client_id: '7', sub: '42', scope: 'orders:read' });
    const row = laravel.database('oauth_refresh_tokens').where({ id: refreshId });
    t.is((await row.clone())[0].revoked, 0, 'it can still be exchanged by either server');
    await revoke(refreshToken);
    t.is((await row.clone())[0].revoked, 1);
    t.deepEqual(await introspect(refreshToken), { active: false });
    t.like(await refresh(platform, laravel, refreshToken), REFUSED);
    await revoke(refreshToken);
  }
});

test('where the old tables are read only, what was ended here stays ended', async (t) => {
  await using laravel = await startLaravel('11', { options: { readOnly: true } });
  await using platform = await moveIn(laravel);
  const credentials = { client_id: '7', client_secret: SECRET };
  const introspect = async (token: string): Promise<unknown> =>
    (await postForm(`${platform.origin}/oauth/introspect`, { ...credentials, token })).body;
  const { refreshToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  t.like(await introspect(refreshToken), { active: true, sub: '42' });
  await platform.auth.revoke({ token: refreshToken });
  t.deepEqual(await introspect(refreshToken), { active: false });
  t.like(await refresh(platform, laravel, refreshToken), REFUSED);

  const exchanged = await issue(laravel.database, { clientId: 7, userId: 42 });
  t.is((await refresh(platform, laravel, exchanged.refreshToken)).status, 200);
  t.is(await codeOf(platform, exchanged.accessToken), 'token_revoked');

  const ended = await issue(laravel.database, { clientId: 7, userId: 42 });
  t.is(await codeOf(platform, ended.accessToken), undefined);
  await platform.auth.revoke({ token: ended.accessToken });
  t.like(await refresh(platform, laravel, ended.refreshToken), REFUSED);
});

test('nobody is asked again for what they gave, and who disconnects the app is', async (t) => {
  await using laravel = await startLaravel('11');
  let looks = 0;
  const source: LaravelPassportSource = {
    ...laravel.source,
    async authorizations(...of) {
      looks += 1;
      return laravel.source.authorizations(...of);
    },
  };
  await using platform = await moveIn({ ...laravel, source });
  await laravel.database('oauth_access_tokens').delete();
  const { refreshToken } = await issue(laravel.database, {
    clientId: 7,
    userId: 42,
    scopes: ['orders:read'],
  });
  const client = (await platform.auth.clients.find('7'))!;
  const app = { client, secret: SECRET, redirectUri: 'https://client.example/cb' };
  const browser = new Browser(platform.reach);
  const ask = async (scope: string): Promise<string> => {
    let page = await browser.open(authorizeUrl(platform, app, { scope }));
    if (page.html.includes('type="password"'))
      page = await signIn(browser, page, '42@school.example', 'password of 42');
    return page.location?.origin ?? page.text;
  };
  t.is(await ask('orders:read'), 'https://client.example');
  const looksBefore = looks;
  t.is(await ask('orders:read'), 'https://client.example');
  t.is(looks, looksBefore, 'what is stored here is not looked up there');
  t.regex(await ask('orders:read orders:write'), /Authorize/);
  const { body } = await refresh(platform, laravel, refreshToken);

  const unused = await issue(laravel.database, { clientId: 7, userId: 42, scopes: ['orders:read'] });
  const orphan = await issue(laravel.database, { clientId: 7, userId: 42, scopes: ['orders:read'] });
  await laravel.database('oauth_access_tokens').where({ id: orphan.id }).delete();
  await disconnect(browser, await browser.open(platform.url('/account/apps')));
  for (const token of [refreshToken, body.refresh_token, unused.refreshToken, orphan.refreshToken])
    t.like(await refresh(platform, laravel, token), REFUSED);
  t.regex(await ask('orders:read'), /Authorize/);
});

const rubbish = (): string => `def50200${crypto.randomBytes(400).toString('hex')}`;

test.serial('what was not encrypted by Passport is refused, at a bounded cost', async (t) => {
  await using laravel = await startLaravel('12 with UUIDs');
  await using platform = await moveIn(laravel, {
    passport: { appKey: APP_KEY },
    limits: { attempts: false },
  });
  const good = vectors.tokens.find(({ name }) => name === 'p12-user-uuid-client')!.refresh_token!;
  const withDigit = (at: number, digit: string): string => good.slice(0, at) + digit + good.slice(at + 1);
  for (const [what, changed, expected] of [
    ['authentication code', withDigit(803, '1'), 1],
    ['ciphertext', withDigit(120, '0'), 1],
    ['salt', withDigit(20, '0'), 1],
    ['header', withDigit(3, '0'), 0],
    ['a byte less', good.slice(0, -2), 1],
    ['half a byte less', good.slice(0, -1), 0],
    ['no hexadecimal digits', `zz${good.slice(2)}`, 0],
    ['too short', good.slice(0, 160), 0],
  ] as const) {
    derivations = 0;
    t.like(await refresh(platform, laravel, changed), REFUSED, what);
    t.is(derivations, expected, what);
  }
  await using other = await moveIn(laravel, {
    passport: { appKey: 'base64:rkSKyGxOjk3sZFcpcI70GHOuecbf+E7/czYJiUh/COU=' },
  });
  t.like(await refresh(other, laravel, good), REFUSED);

  derivations = mostRunning = 0;
  const answers = await Promise.all(
    Array.from({ length: 80 }, async () => refresh(platform, laravel, rubbish())),
  );
  const busy = answers.filter(({ status }) => status === 503);
  t.true(busy.length > 0);
  t.deepEqual([derivations, mostRunning], [80 - busy.length, 2]);
  t.deepEqual([busy[0]!.body.error, busy[0]!.headers.get('retry-after')], ['temporarily_unavailable', '1']);
  t.is((await refresh(platform, laravel, good)).status, 200, 'and works again afterwards');

  // A client of this address has ten attempts, and no more cost any work.
  await using limited = await moveIn(laravel);
  derivations = 0;
  for (let attempt = 0; attempt < 10; attempt += 1)
    t.like(await refresh(limited, laravel, rubbish()), REFUSED);
  t.like(await refresh(limited, laravel, rubbish()), {
    status: 429,
    body: { error: 'temporarily_unavailable' },
  });
  const spent = derivations;
  t.like(await refresh(limited, laravel, rubbish()), { status: 429 });
  t.is(derivations, spent);
});
