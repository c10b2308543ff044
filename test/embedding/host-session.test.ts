import { inspect } from 'node:util';

import test from '../harness/test.ts';
import Koa from 'koa';
import type { Context } from 'koa';
import type { UserStore } from 'koa-gatehouse';
import Router from 'koa-router';
import session from 'koa-session';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, people, signIn, signOut, startPlatform } from '../harness/platform.ts';
import { listenerOf } from '../harness/serve.ts';
import type { AppParts, Mounting, Person, Platform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

type Options = NonNullable<Parameters<typeof startPlatform>[0]>;

/** A platform whose users log in at the host. */
async function startHost(login: Options['login'] = {}, mounting: Mounting = {}): Promise<Platform> {
  const users = people();
  const currentUser = async (ctx: Context): Promise<Person | undefined> => users.find(ctx['session'].userId);
  const started = await startPlatform({ users, login: { currentUser, ...login } }, { app, ...mounting });
  return { ...started, users };
}

function app({ auth, api }: AppParts): ReturnType<typeof listenerOf> {
  const host = new Koa();
  host.silent = true;
  host.keys = ['a key of the host'];
  // koa-session reads the cookie on first use.
  host.use(session(host)).use(auth.middleware()).use(api.routes());
  const router = new Router();
  router.get('/login', (ctx) => {
    const { as, return_to: returnTo } = ctx.query;
    if (as === undefined) {
      ctx.body = `<h1>The host’s login</h1>`;
      return;
    }
    (ctx as Context)['session'].userId = as;
    ctx.redirect(typeof returnTo === 'string' ? returnTo : '/');
  });
  router.get('/logout', (ctx) => {
    (ctx as Context)['session'] = null;
    ctx.body = 'out';
  });
  host.use(router.routes());
  return listenerOf(host);
}

const started = shared(async (stack) => {
  const host = await startHost();
  const atHost = await startHost({ url: '/login?from=gatehouse' });
  stack.defer(async () => {
    for (const platform of [host, atHost]) await platform[Symbol.asyncDispose]();
  });
  return { host, atHost };
});

/** A browser of a user, and a client that nobody has authorized yet. */
async function visit(platform?: Platform): Promise<{
  readonly browser: Browser;
  readonly logIn: (as: string) => Promise<unknown>;
  readonly logOut: () => Promise<unknown>;
  readonly urlOf: (parameters?: Record<string, string>) => URL;
  /** Opens the authorization URL, up to a page or the redirect to the client. */
  readonly open: (parameters?: Record<string, string>) => Promise<Page>;
  /** Goes on from a page to the client, and resolves to the name of the token's user. */
  readonly tokenOwner: (page: Page) => Promise<string>;
}> {
  const { host } = await started();
  const client = await (platform ?? host).registerApp();
  const browser = new Browser();
  const urlOf = (parameters?: Record<string, string>): URL =>
    authorizeUrl(platform ?? host, client, parameters);
  return {
    browser,
    logIn: async (as) => browser.get(`${(platform ?? host).origin}/login?as=${as}`),
    logOut: async () => browser.get(`${(platform ?? host).origin}/logout`),
    urlOf,
    open: async (parameters) => browser.open(urlOf(parameters)),
    async tokenOwner({ location, text }) {
      const code = location?.searchParams.get('code');
      if (!code) throw new Error(`No code: ${location?.href ?? text}`);
      const { body } = await exchangeCode(platform ?? host, client, code);
      const { body: identity } = await (platform ?? host).api('/identity', body.access_token);
      return (identity['data'] as { name: string }).name;
    },
  };
}

async function authorize(browser: Browser, page: Page): Promise<Page> {
  return browser.follow(await browser.submit(page, 'Authorize'));
}

test('with login.logout, signing out here ends the session of the host too', async (t) => {
  const signedOut: unknown[] = [];
  await using host = await startHost({
    logout: async (ctx) => {
      signedOut.push(ctx['session'].userId);
      ctx['session'] = null;
    },
  });
  const user = await visit(host);
  await user.logIn('1');
  const question = await user.browser.open(host.url('/oauth/logout'));
  t.regex(question.text, /You are signed in as ann@school\.example/);
  t.deepEqual(signedOut, [], 'GET ends no session');
  const page = await signOut(host, user.browser);
  t.is(page.status, 200);
  t.is(page.heading, 'You are signed out');
  t.deepEqual(signedOut, ['1']);
  t.is((await user.open()).heading, 'Sign in');
  t.like((await host.auth.audit.list({ types: ['logout'] }))[0], { type: 'logout', userId: '1' });
});

test('with login.logout, “Not you?” ends the session of the host too, and another user can log in', async (t) => {
  await using host = await startHost({
    logout: async (ctx) => {
      ctx['session'] = null;
    },
  });
  const user = await visit(host);
  await user.logIn('1');
  const asked = await user.open();
  t.regex(asked.text, /Signed in as ann@school\.example Not you\?/);
  const login = await user.browser.follow(await user.browser.submit(asked, 'Not you?'));
  t.is(login.heading, 'Sign in');
  const next = await signIn(user.browser, login, 'bob@school.example', 'battery staple');
  t.regex(next.text, /Signed in as bob@school\.example/);
  t.is(await user.tokenOwner(await authorize(user.browser, next)), 'Bob');

  const without = await visit();
  await without.logIn('1');
  t.notRegex((await without.open()).text, /Not you\?/);
});

test('without login.logout, the page says that the session of the host continues', async (t) => {
  const { host } = await started();
  const user = await visit();
  await user.logIn('1');
  const page = await signOut(host, user.browser);
  t.is(page.status, 200);
  t.is(page.heading, 'You are still signed in to Acme Schools');
  t.regex(page.text, /Sign out of Acme Schools itself to end your session in this browser\./);
});

test('an error of logout or currentUser is 500, and only the log has the cause', async (t) => {
  const failure = new Error('the sessions of the host cannot be read');
  const fail = (): never => {
    throw failure;
  };
  await using host = await startHost({ logout: fail });
  const user = await visit(host);
  await signIn(user.browser, await user.open());
  const question = await user.browser.open(host.url('/oauth/logout'));
  await using other = await startHost({ currentUser: fail });
  for (const [page, { logger }] of [
    [await user.browser.submit(question, 'Sign out'), host],
    [await (await visit(other)).open(), other],
  ] as const) {
    t.is(page.status, 500);
    t.notRegex(page.html, /sessions of the host/);
    t.like(logger.lines.find(({ level }) => level === 'error')?.fields, { err: failure });
  }
  // The login session of the server has ended.
  t.is((await user.browser.open(host.url('/oauth/logout'))).heading, 'You are not signed in');
});

test("a user of the host's session sees no login page, and each user is asked for consent", async (t) => {
  const { open, browser, logIn, tokenOwner } = await visit();
  await logIn('1');
  const consent = await open();
  t.is(consent.status, 200);
  t.is(consent.heading, 'Authorize Reports');
  t.regex(consent.text, /ann@/);
  t.notRegex(consent.html, /Not you/, 'the session of the host decides');
  t.is(await tokenOwner(await authorize(browser, consent)), 'Ann');
  t.is(await tokenOwner(await open()), 'Ann');

  await logIn('2');
  const other = await open();
  t.is(other.heading, 'Authorize Reports');
  t.regex(other.text, /bob@/);
  t.notRegex(other.text, /ann@/);
  t.is(await tokenOwner(await authorize(browser, other)), 'Bob');
  await logIn('1');
  t.is(await tokenOwner(await open()), 'Ann', 'the consent of Ann is remembered');
});

test('after a logout at the host, the login page is shown again', async (t) => {
  const { open, browser, logIn, logOut, tokenOwner } = await visit();
  await logIn('1');
  await authorize(browser, await open());
  await logOut();

  const wrong = await signIn(browser, await open(), 'cleo@school.example', 'wrong');
  t.is(wrong.heading, 'Sign in');
  t.is(wrong.status, 422);
  const consent = await signIn(browser, wrong, 'cleo@school.example', 'open sesame');
  t.regex(consent.text, /cleo@/);
  t.is(await tokenOwner(await authorize(browser, consent)), 'Cleo');
  t.is(await tokenOwner(await open()), 'Cleo', 'this login lasts while the host has no session');
  await logIn('1');
  t.is(await tokenOwner(await open()), 'Ann', 'a session of the host comes first');
});

for (const [as, heading] of [
  ['nobody', 'Sign in'],
  ['2', 'Authorize Reports'],
] as const) {
  test(`a consent page of Ann is void after the host’s session changes to ${as}`, async (t) => {
    const { open, browser, logIn, logOut } = await visit();
    await logIn('1');
    const consent = await open();
    t.regex(consent.text, /ann@/);
    await (as === 'nobody' ? logOut() : logIn(as));
    const next = await authorize(browser, consent);
    t.is(next.location?.searchParams.get('code') ?? undefined, undefined);
    t.is(next.heading, heading);
    t.notRegex(next.text, /ann@/);
  });
}

test('with login.url, the browser goes to the host’s login page until the user has logged in', async (t) => {
  const { atHost } = await started();
  const { urlOf, browser, tokenOwner } = await visit(atHost);
  const interaction = await browser.get((await browser.get(urlOf())).location!);
  t.is(interaction.status, 303);
  const location = interaction.location!;
  t.is(location.origin + location.pathname, `${atHost.origin}/login`);
  t.is(location.searchParams.get('from'), 'gatehouse');
  const back = location.searchParams.get('return_to') ?? '';
  t.regex(back, /^http:\/\/127\.0\.0\.1:\d+\/oauth\/interaction\/[\w.-]+$/);
  const again = await browser.open(back);
  t.is(again.heading, 'The host’s login');
  t.is(again.url.searchParams.get('from'), 'gatehouse');

  location.searchParams.set('as', '1');
  const consent = await browser.open(location);
  t.is(consent.heading, 'Authorize Reports');
  t.is(await tokenOwner(await authorize(browser, consent)), 'Ann');
});

test('a login page on another origin gets an absolute return URL', async (t) => {
  await using host = await startHost({ url: 'https://id.example/login' }, { path: '/auth' });
  const { location } = await (await visit(host)).open();
  t.is(location?.origin, 'https://id.example');
  const back = location?.searchParams.get('return_to') ?? '';
  t.true(back.startsWith(`${host.origin}/auth/oauth/interaction/`), back);
});

test("prompt=login asks a user of the host's session to log in, here or at the host", async (t) => {
  const { atHost } = await started();
  const { open, browser, logIn, tokenOwner } = await visit();
  await logIn('1');
  await authorize(browser, await open());
  const login = await open({ prompt: 'login' });
  t.is(login.heading, 'Sign in');
  t.is(await tokenOwner(await signIn(browser, login)), 'Ann');

  const other = await visit(atHost);
  const { heading, url } = await other.open({ prompt: 'login' });
  t.is(heading, 'The host’s login');
  url.searchParams.set('as', '1');
  t.is((await other.browser.open(url)).heading, 'Authorize Reports');
});

test('prompt=none: a code for a known session and consent, login_required after another login at the host', async (t) => {
  const { open, urlOf, browser, logIn, tokenOwner } = await visit();
  await logIn('1');
  await authorize(browser, await open());
  const silent = urlOf({ prompt: 'none' });
  t.is(await tokenOwner(await browser.get(silent)), 'Ann');
  await logIn('2');
  const refused = (await browser.get(silent)).location;
  t.is(refused?.origin, 'https://reports.example');
  t.is(refused?.searchParams.get('error'), 'login_required');
  t.is(refused?.searchParams.get('state'), 'xyz');
});

for (const url of [undefined, '/login?as=404']) {
  test(`a login.currentUser that users.find does not know gets the login page, login.url: ${url}`, async (t) => {
    await using host = await startHost({ currentUser: () => ({ id: '404' }) as Person, url });
    const { open, browser } = await visit(host);
    const page = await open();
    t.is(page.heading, 'Sign in');
    t.deepEqual(host.logger.lines.at(-1), {
      level: 'warn',
      message: 'login.currentUser returned a user that users.find does not find',
      fields: { user_id: '404' },
    });
    t.is((await signIn(browser, page)).heading, 'Authorize Reports');
  });
}

/** A platform that checks no passwords. */
async function startWithoutPasswords(login: Options['login'] = {}): Promise<Platform> {
  const { all } = people();
  const users: UserStore<Person> = {
    find: async (id) => all.find((person) => person.id === id),
    permissions: async ({ permissions }) => permissions,
  };
  const currentUser = async (ctx: Context): Promise<Person | undefined> => users.find(ctx['session'].userId);
  return startPlatform({ users, login: { url: '/login', currentUser, ...login } }, { app });
}

test('with a login page of the host, the user store needs no verifyPassword()', async (t) => {
  await using host = await startWithoutPasswords();
  const { browser, logIn, open, tokenOwner } = await visit(host);
  const page = await open();
  t.is(page.heading, 'The host’s login');
  await logIn('1');
  const returnTo = page.url.searchParams.get('return_to')!;
  t.is(await tokenOwner(await authorize(browser, await browser.open(returnTo))), 'Ann');
});

test('without verifyPassword(), no page takes a password', async (t) => {
  await using host = await startWithoutPasswords();
  const { browser, open } = await visit(host);
  const form = new URLSearchParams({ login: 'ann@school.example', password: 'correct horse' });
  const signedIn = await browser.post(host.url('/oauth/login?return_to=/account/apps'), form);
  t.is(signedIn.status, 303);
  t.is(signedIn.location?.pathname, '/login');
  const interaction = (await open()).url.searchParams.get('return_to')!;
  const posted = await browser.post(new URL(`${interaction}/login`), form);
  t.is(posted.status, 404);
  t.deepEqual(await host.auth.audit.list({ types: ['login', 'login_failed'] }), []);
});

test('without verifyPassword(), a login at the host that cannot be used is an error page, not a form', async (t) => {
  await using host = await startWithoutPasswords({ currentUser: () => ({ id: '404' }) as Person });
  const { open } = await visit(host);
  const page = await open();
  t.is(page.status, 403);
  t.is(page.heading, 'You could not be signed in');
  t.regex(page.text, /Sign out of the platform, and start again in the app\./);
  t.like(host.logger.lines.at(-1), {
    message: 'page refused',
    fields: { error: 'ERR_LOGIN_REFUSED', status: 403 },
  });
});

test('a user removed while logged in, here or at the host, has to log in again', async (t) => {
  await using host = await startHost();
  const [user, other] = [await visit(host), await visit(host)];
  await user.logIn('1');
  await authorize(user.browser, await user.open());
  await authorize(other.browser, await signIn(other.browser, await other.open()));
  host.users.all.shift();
  for (const { open } of [user, other]) t.is((await open()).heading, 'Sign in');
});

test('a user with an invalid id: the log has the remedy', async (t) => {
  for (const id of [7, 7n, '', null]) {
    const user = { id, name: 'Ann', password: '', permissions: [] } as unknown as Person;
    const users = { ...people(), verifyPassword: async () => user, find: async () => user };
    for (const currentUser of [() => user, () => undefined]) {
      await using platform = await startPlatform({ users, login: { currentUser } });
      const { browser, open } = await visit(platform);
      let page = await open();
      if (page.heading === 'Sign in') page = await signIn(browser, page);
      t.is(page.status, 500);
      const { err } = platform.logger.lines.find(({ level }) => level === 'error')!.fields as { err: Error };
      t.is(err.name, 'ConfigError');
      t.is(
        err.message,
        `${currentUser() ? 'login.currentUser' : 'users'}: give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(id)}`,
      );
    }
  }
});
