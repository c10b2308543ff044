import type { Context } from 'koa';
import test from 'ava';
import type { AuthServerOptions, InteractionFlow } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, startPlatform as start } from '../harness/platform.ts';
import { pathHere } from '../../lib/login/login-session.ts';

type Options = NonNullable<Parameters<typeof start>[0]>;

/** A platform with three more pages: the signed-in user, sign in, sign out. */
async function startWithFlow(
  options: Options = {},
  mounting: Parameters<typeof start>[1] = {},
): Promise<{ platform: Platform; flow: InteractionFlow }> {
  let flow!: InteractionFlow;
  const interactions: AuthServerOptions['interactions'] = (given) => {
    flow = given;
    const bundled = pages()(given);
    return {
      ...bundled,
      async middleware(ctx, next) {
        const step = STEPS[ctx.path];
        if (step) ctx.body = (await step(ctx, flow)) ?? 'none';
        else await bundled.middleware(ctx, next);
      },
    };
  };
  const platform = await startPlatform({ ...options, interactions }, mounting);
  return { platform, flow };
}

const STEPS: Readonly<Record<string, (ctx: Context, flow: InteractionFlow) => Promise<string | undefined>>> =
  {
    '/oauth/who': async (ctx, flow) => (await flow.currentUser(ctx))?.name,
    '/oauth/in': async (ctx, flow) => {
      const { login, password } = ctx.query as Record<string, string>;
      const user = await flow.authenticate(ctx, login!, password!);
      if (user) await flow.signIn(ctx, user);
      return user?.name;
    },
    '/oauth/out': async (ctx, flow) => {
      await flow.logout(ctx);
      return undefined;
    },
  };

const ANN = { login: 'ann@school.example', password: 'correct horse' };
const BOB = { login: 'bob@school.example', password: 'battery staple' };

async function signInAt(at: Platform, browser: Browser, person = ANN): Promise<string> {
  const target = at.url('/oauth/in');
  target.search = String(new URLSearchParams(person));
  return (await browser.get(target)).html;
}

async function signedInUser(at: Platform, browser: Browser): Promise<string> {
  return (await browser.get(at.url('/oauth/who'))).html;
}

function sessionOf(browser: Browser): string | undefined {
  return browser.cookies.find(({ name }) => /gatehouse_session\w*$/.test(name))?.value;
}

const { platform, flow } = await startWithFlow();
test.after.always(() => platform[Symbol.asyncDispose]());

test('a user signs in without an authorization request, authorizes without a login page, and signs out', async (t) => {
  const browser = new Browser();
  t.is(await signedInUser(platform, browser), 'none');
  t.is(await signInAt(platform, browser), 'Ann');
  t.is(await signedInUser(platform, browser), 'Ann');
  const app = await platform.registerApp({ firstParty: true });
  const page = await browser.open(authorizeUrl(platform, app));
  t.truthy(page.location?.searchParams.get('code'), 'no login page');
  await browser.get(platform.url('/oauth/out'));
  t.is(await signedInUser(platform, browser), 'none');
  t.deepEqual(
    browser.cookies.map(({ name }) => name).filter((name) => name.includes('session')),
    [],
  );
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
});

test('the session of an authorization is the session of the pages', async (t) => {
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(platform, await platform.registerApp())));
  t.is(await signedInUser(platform, browser), 'Ann');
});

test('the session cookie has the attributes that the engine sets, and expires with the session', async (t) => {
  const browser = new Browser();
  await signInAt(platform, browser);
  const ours = browser.cookies.filter(({ name }) => name.includes('session'));
  const app = await platform.registerApp({ firstParty: true });
  const other = new Browser();
  await authorize(platform, app, { browser: other });
  const engines = other.cookies.filter(({ name }) => name.includes('session'));
  const attributes = ({ value: _value, ...rest }: (typeof ours)[number]): object => rest;
  t.is(ours.length, 2);
  t.deepEqual(ours.map(attributes), engines.map(attributes));
  const target = platform.url('/oauth/in');
  target.search = String(new URLSearchParams(ANN));
  const lines = (await fetch(target)).headers.getSetCookie().filter((line) => line.includes('_session_'));
  t.is(lines.length, 2);
  for (const line of lines) {
    const expires = Date.parse(/expires=([^;]+)/i.exec(line)![1]!);
    t.true(Math.abs(expires - Date.now() - 14 * 86_400_000) < 5000, line);
  }
});

test('each login gives the session a new id, and the old id stops working', async (t) => {
  const browser = new Browser();
  await signInAt(platform, browser);
  const old = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const before = sessionOf(browser);
  await signInAt(platform, browser);
  t.not(sessionOf(browser), before);
  t.is((await new Browser().get(platform.url('/oauth/who'), { cookie: old })).html, 'none');
  t.is(await signedInUser(platform, browser), 'Ann');
});

test('a login does not use a session id that the browser had before (session fixation)', async (t) => {
  const attacker = new Browser();
  await signInAt(platform, attacker, BOB);
  const fixed = attacker.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const target = platform.url('/oauth/in');
  target.search = String(new URLSearchParams(ANN));
  t.is((await new Browser().get(target, { cookie: fixed })).html, 'Ann');
  t.is(await signedInUser(platform, attacker), 'none');
});

test('a login of another user starts an empty session', async (t) => {
  const storage = memoryStorage();
  const own = await startWithFlow({ storage });
  t.teardown(async () => own.platform[Symbol.asyncDispose]());
  const app = await own.platform.registerApp();
  const browser = new Browser();
  await authorize(own.platform, app, { browser });
  const consent = await browser.open(authorizeUrl(own.platform, app, { scope: 'schools:read' }));
  t.is(consent.heading, 'Authorize Reports');
  const saved: unknown[] = [];
  const insert = storage.sessions.insert.bind(storage.sessions);
  storage.sessions.insert = async (session) => {
    saved.push(session.payload['authorizations']);
    await insert(session);
  };
  await signInAt(own.platform, browser, BOB);
  t.deepEqual(saved, [undefined]);
  // Bob cannot answer the open consent page of Ann.
  for (const button of ['Authorize', 'Deny', 'Not you?']) {
    const answer = await browser.submit(consent, button);
    t.is(answer.status, 400);
    t.is(answer.heading, 'This sign-in is no longer open');
  }
  t.deepEqual((await storage.consents.find('1', app.client.id))?.scopes, ['']);
  t.is((await browser.open(authorizeUrl(own.platform, app))).heading, 'Authorize Reports');
});

test('another login of the same user preserves open consent pages', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const consent = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  await signInAt(platform, browser);
  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(end.location?.searchParams.get('code'));
});

test('a wrong password starts no session; logins and failures are recorded', async (t) => {
  const own = await startWithFlow();
  t.teardown(async () => own.platform[Symbol.asyncDispose]());
  const browser = new Browser();
  t.is(await signInAt(own.platform, browser, { ...ANN, password: 'wrong' }), 'none');
  t.deepEqual(browser.cookies, []);
  await signInAt(own.platform, browser);
  await browser.get(own.platform.url('/oauth/out'));
  await browser.get(own.platform.url('/oauth/out'));
  const records = await own.platform.auth.audit.list();
  const address = '127.0.0.1';
  t.deepEqual(
    records.map(({ id: _id, at: _at, requestId: _requestId, ...rest }) => rest),
    [
      { type: 'logout', userId: '1', address },
      { type: 'login', userId: '1', address },
      { type: 'login_failed', address },
    ],
  );
});

test('cookies and URLs of an https issuer with a path', async (t) => {
  let real = '';
  const reach = (url: URL): URL => new URL(url.pathname + url.search, real);
  const inFront = (origin: string): string => {
    real = origin;
    return 'https://platform.example';
  };
  const own = await startWithFlow({}, { path: '/auth', inFront, reach });
  t.teardown(async () => own.platform[Symbol.asyncDispose]());
  const browser = new Browser(reach);
  t.is(await signInAt(own.platform, browser), 'Ann');
  t.is(await signedInUser(own.platform, browser), 'Ann');
  for (const { name, path, secure } of browser.cookies) {
    t.regex(name, /^__Secure-gatehouse_(session_auth(\.sig)?|device_auth)$/);
    t.is(path, '/auth');
    t.true(secure);
  }
  await browser.get(own.platform.url('/oauth/out'));
  t.deepEqual(
    browser.cookies.map(({ name }) => name),
    ['__Secure-gatehouse_device_auth'],
  );
  t.is(own.flow.loginUrl('/auth/account/apps'), '/auth/oauth/login?return_to=%2Fauth%2Faccount%2Fapps');
  t.is(own.flow.accountPath, '/account/apps');
  t.is(own.flow.developerPath, undefined, 'the gate has no permission manage_apps');
});

test('loginUrl() is the bundled page with a return_to of the own origin only', (t) => {
  const login = '/oauth/login';
  t.is(
    flow.loginUrl('/developer/apps?page=2#top'),
    `${login}?return_to=%2Fdeveloper%2Fapps%3Fpage%3D2%23top`,
  );
  t.is(flow.loginUrl('/'), `${login}?return_to=%2F`);
  for (const elsewhere of [
    'https://evil.example',
    '//evil.example',
    String.raw`/\evil.example`,
    String.raw`\\evil.example`,
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    '/%2e//evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'developer/apps',
    '?x',
    '',
    ' /x',
    '/\0//evil.example/..//',
    undefined as unknown as string,
    ['/x'] as unknown as string,
  ]) {
    const url = flow.loginUrl(elsewhere);
    const returnTo = new URL(url, platform.origin).searchParams.get('return_to');
    if (returnTo !== null) t.is(new URL(returnTo, platform.origin).origin, platform.origin, elsewhere);
    if (returnTo !== null) t.regex(returnTo, /^\/(?!\/)/, elsewhere);
  }
  t.is(flow.loginUrl('//evil.example'), login);
});

test('return_to is always a path of the own origin', (t) => {
  const origin = 'https://platform.example';
  t.is(pathHere('/a b/ü?q=ü', origin), '/a%20b/%C3%BC?q=%C3%BC');
  t.is(pathHere('/a/../b', origin), '/b');
  for (const path of ['//x', '/\\x', 'x', '', '/.//x', '/..//x', '/a/../..//x', '/\r\n/x', '///']) {
    t.is(pathHere(path, origin), undefined, path);
  }
  t.is(pathHere(`/${'a'.repeat(1999)}`, origin)?.length, 2000);
  t.is(pathHere(`/${'a'.repeat(2000)}`, origin), undefined, 'too long for a header field');
  t.is(pathHere(`/${'ü'.repeat(400)}`, origin), undefined);
});

test('with a login page of the host loginUrl() is that page with an absolute return_to', async (t) => {
  const own = await startWithFlow({
    login: { currentUser: () => undefined, url: 'https://id.example/login?from=gatehouse' },
  });
  t.teardown(async () => own.platform[Symbol.asyncDispose]());
  const url = new URL(own.flow.loginUrl('/account/apps'));
  t.is(url.origin, 'https://id.example');
  t.is(url.searchParams.get('from'), 'gatehouse');
  t.is(url.searchParams.get('return_to'), `${own.platform.origin}/account/apps`);
  t.is(own.flow.loginUrl('//evil.example'), 'https://id.example/login?from=gatehouse');
});

test('a logout at the host ends the session that came from the host', async (t) => {
  let hostUser: Awaited<ReturnType<Platform['users']['find']>>;
  const own = await startWithFlow({ login: { currentUser: () => hostUser } });
  t.teardown(async () => own.platform[Symbol.asyncDispose]());
  hostUser = own.platform.users.all[0];
  const app = await own.platform.registerApp({ firstParty: true });
  const browser = new Browser();
  await authorize(own.platform, app, { browser });
  t.is(await signedInUser(own.platform, browser), 'Ann');
  hostUser = undefined;
  t.is(await signedInUser(own.platform, browser), 'none');
  t.is(await signInAt(own.platform, browser), 'Ann');
  t.is(await signedInUser(own.platform, browser), 'Ann', 'a login on the bundled page starts a session');
});

test('a user whose id is not a string gives ERR_CONFIG in the log', async (t) => {
  const user = { id: 7, name: 'Ann', password: '', permissions: [] } as never;
  const users = { ...platform.users, authenticate: async () => user, find: async () => user };
  const own = await startWithFlow({ users });
  t.teardown(async () => own.platform[Symbol.asyncDispose]());
  const target = own.platform.url('/oauth/in');
  target.search = String(new URLSearchParams(ANN));
  t.is((await new Browser().get(target)).status, 500);
  const line = own.platform.logger.lines.find(({ level }) => level === 'error');
  t.like(line?.fields, { err: { code: 'ERR_CONFIG' } });
});
