import { inspect } from 'node:util';

import test from 'ava';
import Koa from 'koa';
import type { Context } from 'koa';
import type { AuthServerOptions } from 'koa-gatehouse';
import Router from 'koa-router';
import session from 'koa-session';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, listenerOf, people, signIn, startPlatform } from '../harness/platform.ts';
import type { AppParts, Mounting, Person, Platform, RegisteredApp } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';

/** A platform whose users log in at the host, a client, and a browser. */
interface Host extends AsyncDisposable {
  readonly platform: Platform;
  readonly users: ReturnType<typeof people>;
  readonly browser: Browser;
  readonly logIn: (as: string) => Promise<unknown>;
  readonly logOut: () => Promise<unknown>;
  /** Opens the authorization URL, up to a page or the redirect to the client. */
  readonly open: (parameters?: Record<string, string>) => Promise<Page>;
  readonly urlOf: (parameters?: Record<string, string>) => URL;
  /** Goes on from a page to the client, and resolves to the name of the token's user. */
  readonly tokenOwner: (page: Page) => Promise<string>;
}

async function startHost(
  options: Partial<AuthServerOptions<never, never, Person>> = {},
  mounting: Mounting = {},
): Promise<Host> {
  const users = people();
  const platform = await startPlatform(
    {
      users,
      ...(options as object),
      login: { currentUser: async (ctx) => users.find(ctx['session'].userId), ...options.login },
    },
    { app, ...mounting },
  );
  const client = await platform.registerApp();
  const browser = new Browser();
  const urlOf: Host['urlOf'] = (parameters) => authorizeUrl(platform, client, parameters);
  return {
    platform,
    users,
    browser,
    logIn: async (as) => browser.get(`${platform.origin}/login?as=${as}`),
    logOut: async () => browser.get(`${platform.origin}/logout`),
    open: async (parameters) => browser.open(urlOf(parameters)),
    urlOf,
    tokenOwner: async (page) => ownerOf(platform, client, page),
    [Symbol.asyncDispose]: async () => platform[Symbol.asyncDispose](),
  };
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

async function ownerOf(platform: Platform, client: RegisteredApp, page: Page): Promise<string> {
  if (!page.location) throw new Error(`No redirect, but ${page.status}: ${page.text}`);
  const code = page.location.searchParams.get('code');
  if (code === null) throw new Error(`No code: ${page.location.href}`);
  const { body } = await exchangeCode(platform, client, code);
  const { body: identity } = await platform.api('/identity', body.access_token);
  return (identity['data'] as { name: string }).name;
}

async function authorize(browser: Browser, page: Page): Promise<Page> {
  return browser.follow(await browser.submit(page, 'Authorize'));
}

test('with signOut, signing out here ends the session of the host too', async (t) => {
  const signedOut: unknown[] = [];
  await using host = await startHost({
    login: {
      signOut: async (ctx) => {
        signedOut.push(ctx['session'].userId);
        ctx['session'] = null;
      },
    },
  });
  const { open, browser, logIn, platform } = host;
  await logIn('1');
  const question = await browser.open(platform.url('/oauth/logout'));
  t.regex(question.text, /You are signed in as ann@school\.example/);
  t.deepEqual(signedOut, [], 'GET ends no session');
  const page = await browser.submit(question, 'Sign out');
  t.is(page.status, 200);
  t.is(page.heading, 'You are signed out');
  t.deepEqual(signedOut, ['1']);
  t.is((await open()).heading, 'Sign in');
  t.like((await platform.auth.audit.list({ types: ['logout'] }))[0], { type: 'logout', userId: '1' });
});

test('without signOut, the page says that the session of the host continues', async (t) => {
  await using host = await startHost();
  const { browser, logIn, platform } = host;
  await logIn('1');
  const page = await browser.submit(await browser.open(platform.url('/oauth/logout')), 'Sign out');
  t.is(page.status, 200);
  t.is(page.heading, 'You are still signed in to Acme Schools');
  t.regex(page.text, /Sign out of Acme Schools itself to end your session in this browser\./);
});

test('a signOut that fails is 500 and logged, and the login session of the server has ended', async (t) => {
  await using host = await startHost({
    login: {
      signOut: () => {
        throw new Error('the sessions of the host cannot be read');
      },
    },
  });
  const { browser, platform } = host;
  await signIn(browser, await browser.open(host.urlOf()));
  const question = await browser.open(platform.url('/oauth/logout'));
  const page = await browser.submit(question, 'Sign out');
  t.is(page.status, 500);
  t.notRegex(page.text, /sessions of the host/);
  t.true(platform.logger.lines.some(({ message }) => message === 'page failed'));
  t.is((await browser.open(platform.url('/oauth/logout'))).heading, 'You are not signed in');
});

test("a user of the host's session sees no login page", async (t) => {
  await using host = await startHost();
  const { open, browser, logIn, tokenOwner } = host;
  await logIn('1');

  const consent = await open();
  t.is(consent.status, 200);
  t.is(consent.heading, 'Authorize Reports');
  t.regex(consent.text, /ann@/);
  t.notRegex(consent.html, /Not you/, 'the session of the host decides');
  t.is(await tokenOwner(await authorize(browser, consent)), 'Ann');

  const again = await open();
  t.is(await tokenOwner(again), 'Ann');
});

test('after another login at the host, the new user is asked for consent and gets the token', async (t) => {
  await using host = await startHost();
  const { open, browser, logIn, tokenOwner } = host;
  await logIn('1');
  await authorize(browser, await open());

  await logIn('2');
  const consent = await open();
  t.is(consent.heading, 'Authorize Reports');
  t.regex(consent.text, /bob@/);
  t.notRegex(consent.text, /ann@/);
  t.is(await tokenOwner(await authorize(browser, consent)), 'Bob');

  await logIn('1');
  const back = await open();
  t.is(await tokenOwner(back), 'Ann', 'the consent of Ann is remembered');
});

test('after a logout at the host, the login page is shown again', async (t) => {
  await using host = await startHost();
  const { open, browser, logIn, logOut, tokenOwner } = host;
  await logIn('1');
  await authorize(browser, await open());
  await logOut();

  const login = await open();
  t.is(login.heading, 'Sign in');
  const consent = await signIn(browser, login, 'cleo@school.example', 'open sesame');
  t.regex(consent.text, /cleo@/);
  t.is(await tokenOwner(await authorize(browser, consent)), 'Cleo');

  const again = await open();
  t.is(
    await tokenOwner(again),
    'Cleo',
    'a login on a page of the server lasts while the host has no session',
  );
  await logIn('1');
  const host1 = await open();
  t.is(await tokenOwner(host1), 'Ann', 'a session of the host comes first');
});

test("the server's login page works while the host has no session", async (t) => {
  await using host = await startHost();
  const { open, browser, tokenOwner } = host;
  const login = await open();
  t.is(login.heading, 'Sign in');
  const wrong = await signIn(browser, login, 'ann@school.example', 'wrong');
  t.is(wrong.status, 422);
  const consent = await signIn(browser, wrong);
  t.is(consent.heading, 'Authorize Reports');
  t.is(await tokenOwner(await authorize(browser, consent)), 'Ann');
});

for (const as of ['none', '2']) {
  test(`a consent page of Ann is void after the host’s session changes to ${as}`, async (t) => {
    await using host = await startHost();
    const { open, browser, logIn, logOut } = host;
    await logIn('1');
    const consent = await open();
    t.regex(consent.text, /ann@/);
    await (as === 'none' ? logOut() : logIn(as));

    const next = await authorize(browser, consent);
    t.is(next.location?.searchParams.get('code') ?? undefined, undefined);
    t.is(next.heading, as === 'none' ? 'Sign in' : 'Authorize Reports');
    t.notRegex(next.text, /ann@/);
  });
}

const RETURN_URL = /^http:\/\/127\.0\.0\.1:\d+\/oauth\/interaction\/[\w.-]+$/;

test('with loginUrl, the browser goes to the host’s login page and returns', async (t) => {
  await using host = await startHost({ login: { url: '/login' } });
  const { urlOf, browser, platform, tokenOwner } = host;
  const interaction = await browser.get((await browser.get(urlOf())).location!);
  t.is(interaction.status, 303);
  const { location } = interaction;
  t.is(location?.origin, platform.origin);
  t.is(location?.pathname, '/login');
  t.regex(location?.searchParams.get('return_to') ?? '', RETURN_URL);
  t.is((await browser.get(location!)).heading, 'The host’s login');

  location!.searchParams.set('as', '1');
  const consent = await browser.open(location!);
  t.is(consent.heading, 'Authorize Reports');
  t.is(await tokenOwner(await authorize(browser, consent)), 'Ann');
});

test('with loginUrl, a browser that returns without a login is redirected again', async (t) => {
  await using host = await startHost({ login: { url: '/login?from=gatehouse' } });
  const { open, browser } = host;
  const page = await open();
  t.is(page.heading, 'The host’s login');
  t.is(page.url.searchParams.get('from'), 'gatehouse');
  const again = await browser.open(page.url.searchParams.get('return_to')!);
  t.is(again.heading, 'The host’s login');
  t.is(again.url.searchParams.get('from'), 'gatehouse');
});

test('a login page on another origin gets an absolute return URL', async (t) => {
  await using host = await startHost({ login: { url: 'https://id.example/login' } }, { path: '/auth' });
  const { open, platform } = host;
  const page = await open();
  t.is(page.location?.origin, 'https://id.example');
  const back = page.location?.searchParams.get('return_to') ?? '';
  t.true(back.startsWith(`${platform.origin}/auth/oauth/interaction/`), back);
});

test("prompt=login asks a user of the host's session for the password", async (t) => {
  await using host = await startHost();
  const { open, browser, logIn, tokenOwner } = host;
  await logIn('1');
  await authorize(browser, await open());
  const login = await open({ prompt: 'login' });
  t.is(login.heading, 'Sign in');
  t.is(await tokenOwner(await signIn(browser, login)), 'Ann');
});

test('prompt=login is satisfied by the login at the host that it caused', async (t) => {
  await using host = await startHost({ login: { url: '/login' } });
  const { open, browser } = host;
  const login = await open({ prompt: 'login' });
  t.is(login.heading, 'The host’s login');
  login.url.searchParams.set('as', '1');
  t.is((await browser.open(login.url)).heading, 'Authorize Reports');
});

test('prompt=none: a code for a known session and consent, login_required after another login at the host', async (t) => {
  await using host = await startHost();
  const { open, urlOf, browser, logIn, tokenOwner } = host;
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

for (const loginUrl of [undefined, '/login?as=404']) {
  test(`a login.currentUser that users.find does not know gets the login page, login.url: ${loginUrl}`, async (t) => {
    await using host = await startHost({
      login: { currentUser: () => ({ id: '404' }) as Person, url: loginUrl },
    });
    const { open, browser, platform } = host;
    const page = await open();
    t.is(page.heading, 'Sign in');
    t.deepEqual(platform.logger.lines.at(-1), {
      level: 'warn',
      message: 'login.currentUser returned a user that users.find does not find',
      fields: { user_id: '404' },
    });
    t.is((await signIn(browser, page)).heading, 'Authorize Reports');
  });
}

test('a user removed while logged in at the host has to log in again', async (t) => {
  await using host = await startHost();
  const { open, browser, logIn, users } = host;
  await logIn('1');
  await authorize(browser, await open());
  users.all.shift();
  const page = await open();
  t.is(page.heading, 'Sign in');
});

test("a user removed while logged in on the server's page has to log in again", async (t) => {
  await using platform = await startPlatform();
  const client = await platform.registerApp();
  const browser = new Browser();
  await authorize(browser, await signIn(browser, await browser.open(authorizeUrl(platform, client))));
  platform.users.all.shift();
  const page = await browser.open(authorizeUrl(platform, client));
  t.is(page.heading, 'Sign in');
});

test('an error of currentUser is a page with a reference, and only the log has the cause', async (t) => {
  const failure = new Error('the session store failed');
  await using host = await startHost({
    login: {
      currentUser: () => {
        throw failure;
      },
    },
  });
  const { open, platform } = host;
  const page = await open();
  t.is(page.status, 500);
  t.notRegex(page.html, /session store/);
  t.like(platform.logger.lines.find(({ level }) => level === 'error')?.fields, { err: failure });
});

for (const id of [7, 7n, 0, '', null]) {
  test(`a user with the invalid id ${inspect(id)}: the log has the remedy`, async (t) => {
    const user = { id, name: 'Ann', password: '', permissions: [] } as unknown as Person;
    const users = { ...people(), authenticate: async () => user, find: async () => user };
    for (const currentUser of [() => user, () => undefined]) {
      await using platform = await startPlatform({ users, login: { currentUser } });
      const client = await platform.registerApp();
      const browser = new Browser();
      let page = await browser.open(authorizeUrl(platform, client));
      if (page.heading === 'Sign in') page = await signIn(browser, page);
      t.is(page.status, 500);
      const { err } = platform.logger.lines.find(({ level }) => level === 'error')!.fields as { err: Error };
      t.is(err.name, 'ConfigError');
      t.is(
        err.message,
        `users: give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(id)}`,
      );
    }
  });
}
