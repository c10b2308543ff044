import test from '../../harness/test.ts';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import type { JSONWebKeySet, JWTPayload } from 'jose';
import { createAdministration } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase, sqlite } from '../../adapters/databases.ts';
import { openHost, openStorage } from '../../adapters/host-knex.ts';
import { Browser } from '../../harness/browser.ts';
import { passTime } from '../../harness/clock.ts';
import {
  authorize,
  authorizeUrl,
  runCodeFlow,
  signIn,
  signOut,
  startPlatform,
} from '../../harness/platform.ts';
import type { Platform, RegisteredApp } from '../../harness/platform.ts';
import { ON_LOOPBACK, PATIENT_ON_LOOPBACK } from '../../harness/public-server.ts';
import { postForm, send } from '../../harness/requests.ts';
import { pausable } from '../../harness/storage.ts';
import { until } from '../../harness/until.ts';
import { asClient, exchangeCode, exchangeRefreshToken, REFUSED_GRANT } from '../../harness/tokens.ts';
import { startProcess } from '../../oidc/nodes.ts';
import { OPENID } from '../../openid/options.ts';
import { logoutsOf } from '../../openid/logouts-of.ts';
import { confirm, startPublicApps } from '../../openid/told-apps.ts';
import type { Answer, Apps } from '../../openid/told-apps.ts';

interface Setup extends AsyncDisposable {
  readonly platform: Platform;
  readonly apps: Apps;
  /** Registers an app that is told of logouts. */
  register(this: void, name: string, fields?: Parameters<Platform['registerApp']>[0]): Promise<RegisteredApp>;
}

async function setUp(
  given: Parameters<typeof startPlatform>[0] = {},
  answer: Answer = confirm,
  network = ON_LOOPBACK,
): Promise<Setup> {
  const apps = await startPublicApps(answer);
  const platform = await startPlatform({ openid: OPENID, ...given }, network);
  return {
    platform,
    apps,
    register: async (name, fields = {}) =>
      platform.registerApp({ name, backchannelLogoutUri: `${apps.origin}/${name}`, ...fields }),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await apps[Symbol.asyncDispose]();
    },
  };
}

/** How many logout tokens each app has got, by name. */
function countsOf({ received }: Apps): Readonly<Record<string, number>> {
  const byName = Map.groupBy(received, ({ path }) => path.slice(1));
  return Object.fromEntries([...byName].map(([name, all]) => [name, all.length]));
}

/** Signs the user of a browser in at an app. Resolves to the tokens, with the claims of the ID token. */
async function signInAt(
  { platform }: Pick<Setup, 'platform'>,
  app: RegisteredApp,
  browser: Browser,
  scope = 'openid',
) {
  const { body } = await runCodeFlow(platform, app, { browser, parameters: { scope } });
  const { id_token: idToken } = body;
  const claims: JWTPayload = idToken === undefined ? {} : decodeJwt(idToken);
  return { ...body, claims };
}

test('a logout is told to the apps of that session, in which the user has signed in', async (t) => {
  await using setup = await setUp({ openid: true });
  const { apps, platform, register } = setup;
  const [first, second, third] = [await register('first'), await register('second'), await register('third')];
  const silent = await platform.registerApp();
  const [browser, other] = [new Browser(), new Browser()];
  const { claims, ...tokens } = await signInAt(setup, first, browser);
  t.is((await signInAt(setup, first, browser)).claims['sid'], claims['sid']);
  await signInAt(setup, second, browser, 'openid email');
  await signInAt(setup, third, browser, 'schools:read');
  await signInAt(setup, silent, browser);
  const elsewhere = await signInAt(setup, first, other);
  t.not(elsewhere.claims['sid'], claims['sid']);

  await signOut(platform, browser);
  await until(() => apps.tokensOf('/first').length + apps.tokensOf('/second').length === 2);
  const [token] = apps.tokensOf('/first');
  const { body: keys } = await send(platform.url('/oauth/jwks'));
  const { payload } = await jwtVerify(token!, createLocalJWKSet(keys as unknown as JSONWebKeySet), {
    issuer: platform.auth.issuer,
    audience: first.client.id,
    typ: 'logout+jwt',
    algorithms: ['RS256'],
  });
  t.deepEqual([payload.sub, payload['sid'], payload['nonce']], ['1', claims['sid'], undefined]);
  t.like(decodeJwt(apps.tokensOf('/second')[0]!), { sub: '1', aud: second.client.id });
  t.is((await platform.api('/identity', token)).status, 401, 'a logout token gives no access');
  const hint = { id_token_hint: token!, prompt: 'none', scope: 'openid' };
  const { location } = await other.open(authorizeUrl(platform, first, hint));
  t.is(location!.searchParams.get('error'), 'invalid_request', 'and it is no ID token');
  t.regex(location!.searchParams.get('error_description')!, /could not validate id_token_hint/);
  const logout = await other.open(`${platform.url('/oauth/logout').href}?id_token_hint=${token!}`);
  t.is(logout.status, 400);
  t.regex(logout.text, /the id_token_hint is no ID token of this server/);

  // The same again, with another page and without a session.
  await browser.post(platform.url('/oauth/logout'), new URLSearchParams());
  // The authorization stays, as the access token does.
  t.is((await exchangeRefreshToken(platform, first, tokens.refresh_token)).status, 200);
  // In the other browser, the user is signed in.
  t.is((await signInAt(setup, first, other)).claims['sid'], elsewhere.claims['sid']);
  const again = await signInAt(setup, first, browser);
  t.not(again.claims['sid'], claims['sid']);
  await signOut(platform, browser);
  await until(() => apps.tokensOf('/first').length === 2);
  t.is(decodeJwt(apps.tokensOf('/first')[1]!)['sid'], again.claims['sid']);
  t.deepEqual(countsOf(apps), { first: 2, second: 1 });
});

/** What ends a sign-in, and how often each of the apps is told: `one` in two browsers, `two` in the first of them. */
const ENDS: readonly [
  title: string,
  told: Readonly<Record<string, number>>,
  end: (
    setup: Setup,
    held: {
      readonly browser: Browser;
      readonly one: RegisteredApp;
      readonly grant: string;
      readonly address: string;
    },
  ) => Promise<unknown>,
][] = [
  [
    'disconnecting the app',
    { one: 2 },
    async ({ platform }, { browser, one }) => {
      const page = await browser.open(platform.url('/account/apps'));
      const [, link] = new RegExp(`href="([^"]*${one.client.id}/revoke)"`).exec(page.html) ?? [];
      if (link === undefined) return page;
      const question = await browser.open(new URL(link, page.url));
      return browser.submit(question, 'Disconnect');
    },
  ],
  [
    'auth.revoke({ userId })',
    { one: 2, two: 1 },
    async ({ platform: { auth } }) => auth.revoke({ userId: '1' }),
  ],
  [
    'auth.revoke({ clientId })',
    { one: 2 },
    async ({ platform: { auth } }, { one }) => auth.revoke({ clientId: one.client.id }),
  ],
  [
    'auth.revoke({ grantId })',
    { one: 1 },
    async ({ platform: { auth } }, { grant }) => auth.revoke({ grantId: grant }),
  ],
  ['auth.revoke({ all })', { one: 2, two: 1 }, async ({ platform: { auth } }) => auth.revoke({ all: true })],
  [
    'the command line',
    { one: 2, two: 1 },
    async (_setup, { address }) => {
      const administration = createAdministration({ storage: knexStorage(address) });
      await administration.revoke({ userId: '1' });
      await administration.close();
    },
  ],
  [
    'the removal of the user',
    { one: 2, two: 1 },
    async ({ platform }, { browser, one }) => {
      platform.users.all.shift();
      await browser.open(authorizeUrl(platform, one, { scope: 'openid' }));
    },
  ],
  [
    'a login of another user in the browser',
    { one: 1, two: 1 },
    async ({ platform }, { browser, one }) => {
      const page = await browser.open(authorizeUrl(platform, one, { scope: 'openid', prompt: 'login' }));
      return signIn(browser, page, 'bob@school.example', 'battery staple');
    },
  ],
  [
    'a login of the same user',
    {},
    async ({ platform }, { browser, one }) => {
      const page = await browser.open(authorizeUrl(platform, one, { scope: 'openid', prompt: 'login' }));
      return signIn(browser, page);
    },
  ],
];
for (const [title, told, end] of ENDS) {
  test(`${title} is told to exactly the apps whose users it signs out, once`, async (t) => {
    const address = await sqlite.empty();
    const storage = await openStorage(t, address);
    await using setup = await setUp({ storage });
    const { apps, platform, register } = setup;
    const [one, two, other] = [await register('one'), await register('two'), await register('other')];
    const [browser, second, bobs] = [new Browser(), new Browser(), new Browser()];
    const { access_token: token } = await signInAt(setup, one, browser);
    await signInAt(setup, two, browser);
    await signInAt(setup, one, second);
    const asBob = { person: 'bob@school.example', password: 'battery staple' };
    await authorize(platform, other, { browser: bobs, parameters: { scope: 'openid' }, ...asBob });
    const held = { browser, one, grant: String(decodeJwt(token)['grant_id']), address };
    await end(setup, held);
    if (title !== 'the removal of the user') await end(setup, held);
    const expected = title === 'auth.revoke({ all })' ? { ...told, other: 1 } : told;
    const total = Object.values(expected).reduce((sum, count) => sum + count, 0);
    await until(() => apps.received.length >= total);
    // Whoever is told besides has been told by the time that one more is.
    const last = await register('last');
    await signInAt(setup, last, bobs);
    await signOut(platform, bobs);
    await until(() => apps.tokensOf('/last').length === 1);
    const { last: _last, other: _other, ...counts } = countsOf(apps);
    t.deepEqual(counts, told);
  });
}

/** What ends the tokens of an app, and leaves the user signed in there. */
const ENDS_OF_TOKENS: readonly [
  title: string,
  end: (platform: Platform, app: RegisteredApp, browser: Browser) => Promise<unknown>,
][] = [
  [
    'has revoked its own token',
    async (platform, app, browser) => {
      const { body } = await runCodeFlow(platform, app, { browser, parameters: { scope: 'openid' } });
      return postForm(platform.url('/oauth/revoke'), { ...asClient(app), token: body.refresh_token });
    },
  ],
  [
    'has sent a code twice',
    async (platform, app, browser) => {
      const code = (await authorize(platform, app, { browser, parameters: { scope: 'openid' } })).get('code');
      await exchangeCode(platform, app, code);
      return exchangeCode(platform, app, code);
    },
  ],
  [
    'has reused a refresh token after the grace',
    async (platform, app, browser) => {
      const { body } = await runCodeFlow(platform, app, { browser, parameters: { scope: 'openid' } });
      await exchangeRefreshToken(platform, app, body.refresh_token);
      return exchangeRefreshToken(platform, app, body.refresh_token);
    },
  ],
];
for (const [title, end] of ENDS_OF_TOKENS) {
  onEachDatabase(`an app that ${title} is told of the end of the session, once`, async (t, _, address) => {
    const storage = await openStorage(t, address);
    await using setup = await setUp({ storage, tokens: { refreshGrace: 0 } });
    const { apps, platform, register } = setup;
    const [app, last] = [await register('app'), await register('last')];
    const browser = new Browser();
    await end(platform, app, browser);
    t.deepEqual(await storage.grants.list('1', { now: 0, limit: 1 }), [], 'the grant was revoked');
    t.is(apps.received.length, 0, 'the app knows of it');
    await signOut(platform, browser);
    await until(() => apps.tokensOf('/app').length === 1);
    await platform.auth.revoke({ userId: '1' });
    await signInAt(setup, last, browser);
    await signOut(platform, browser);
    await until(() => apps.tokensOf('/last').length === 1);
    t.deepEqual(countsOf(apps), { app: 1, last: 1 });
  });
}

test('a code that comes after the logout signs nobody in, and one for an API alone stays', async (t) => {
  await using setup = await setUp();
  const { apps, platform, register } = setup;
  const app = await register('app');
  const browser = new Browser();
  const redeem = async (scope: string, between: () => Promise<unknown>) => {
    const code = (await authorize(platform, app, { browser, parameters: { scope } })).get('code')!;
    await between();
    return exchangeCode(platform, app, code);
  };
  const { body, status } = await redeem('openid', async () => signOut(platform, browser));
  t.is(status, 400);
  t.like(body, REFUSED_GRANT);
  await until(() => apps.received.length === 1);
  t.is((await redeem('schools:read', async () => signOut(platform, browser))).status, 200);
  // A login of the same user in the same browser is no logout.
  const again = await redeem('openid', async () => {
    const url = authorizeUrl(platform, app, { scope: 'openid', prompt: 'login' });
    await signIn(browser, await browser.open(url));
  });
  t.is(again.status, 200);
  t.is(apps.received.length, 1);
});

onEachDatabase('a code that is being exchanged during the logout signs nobody in', async (t, _, address) => {
  const { pause, storage } = pausable(await openStorage(t, address));
  await using setup = await setUp({ storage });
  const { apps, platform, register } = setup;
  const app = await register('app');
  const browser = new Browser();
  const { reached, resume } = pause('grants.redeem');
  const exchanged = runCodeFlow(platform, app, { browser, parameters: { scope: 'openid' } });
  await reached;
  await signOut(platform, browser);
  await until(() => apps.tokensOf('/app').length === 1);
  resume();
  const { body, status } = await exchanged;
  t.is(status, 400);
  t.is(body.error, 'invalid_grant');
  t.is((await runCodeFlow(platform, app, { parameters: { scope: 'openid' } })).status, 200);
});

test('a logout is answered while the apps do not, and nothing else waits for them', async (t) => {
  const storage = knexStorage('sqlite::memory:');
  const answered = Promise.withResolvers<void>();
  const answer: Answer = async (...given) => answered.promise.then(() => confirm(...given));
  await using setup = await setUp({ storage }, answer, PATIENT_ON_LOOPBACK);
  const { apps, platform, register } = setup;
  const app = await register('app');
  const browser = new Browser();
  await signInAt(setup, app, browser);
  await signOut(platform, browser);
  await until(() => apps.tokensOf('/app').length === 1);
  // The one connection of the database is free.
  t.truthy((await signInAt(setup, app, new Browser())).claims.sub);
  t.is((await logoutsOf(storage).findLatest(app.client.id))?.answeredAt, undefined);
  answered.resolve();
  await until(async () => (await logoutsOf(storage).findLatest(app.client.id))?.dueAt === undefined);
});

test.serial(
  'an app is told of the end of a session whose access and refresh tokens have expired',
  async (t) => {
    await using setup = await setUp({
      storage: memoryStorage(),
      tokens: { lifetimes: { accessToken: 60, refreshToken: 120, refreshTokenAbsolute: 240 } },
    });
    const { apps, platform, register } = setup;
    const app = await register('app');
    const browser = new Browser();
    const { claims } = await signInAt(setup, app, browser);
    passTime(86_400);
    await platform.auth.prune();
    await signOut(platform, browser);
    await until(() => apps.tokensOf('/app').length === 1);
    t.is(decodeJwt(apps.tokensOf('/app')[0]!)['sid'], claims['sid']);
  },
);

test.serial(
  'codes that nobody redeems leave no rows, however often a site has a browser ask for one',
  async (t) => {
    const database = openHost(t, 'better-sqlite3', 'sqlite::memory:');
    await using setup = await setUp({ storage: knexStorage(database) });
    const { apps, platform, register } = setup;
    const app = await register('app');
    const browser = new Browser();
    await signInAt(setup, app, browser);
    for (let time = 0; time < 5; time += 1) {
      const { location } = await browser.get(
        authorizeUrl(platform, app, { scope: 'openid', prompt: 'none', nonce: String(time) }),
      );
      t.truthy(location!.searchParams.get('code'));
    }
    t.is((await database('gatehouse_grants')).length, 6);
    passTime(3600);
    await platform.auth.prune();
    t.is((await database('gatehouse_grants')).length, 1);
    await signOut(platform, browser);
    await until(() => apps.tokensOf('/app').length === 1);
  },
);

onEachDatabase(
  'a node that is killed when it has ended the session: another one tells the apps',
  async (t, _database, address) => {
    const storage = await openStorage(t, address);
    await using setup = await setUp({ storage, openid: true });
    const { apps, platform, register } = setup;
    let origin = platform.origin;
    const browser = new Browser((url) => new URL(url.pathname + url.search, origin));
    await signInAt(setup, await register('one'), browser);
    await signInAt(setup, await register('two'), browser);
    const killed = startProcess();
    const node = await killed.open({
      address,
      issuer: platform.auth.issuer,
      openid: true,
      kill: { after: 'sessions.end' },
    });
    ({ origin } = node);
    await t.throwsAsync(signOut(platform, browser));
    t.is(await killed.end, 'SIGKILL');
    await until(() => apps.tokensOf('/one').length + apps.tokensOf('/two').length === 2);
    ({ origin } = platform);
    // The session has ended.
    t.regex((await browser.open(authorizeUrl(platform, await register('three')))).html, /type="password"/);
    t.deepEqual(countsOf(apps), { one: 1, two: 1 });
  },
);

test('the metadata announce it with openid(), and without there is none', async (t) => {
  for (const openid of [OPENID, false]) {
    await using platform = await startPlatform({ openid });
    const { body } = await send(platform.url('/.well-known/oauth-authorization-server'));
    for (const member of ['backchannel_logout_supported', 'backchannel_logout_session_supported'])
      t.is(body![member], openid ? true : undefined);
  }
});
