import { passTime, stopClock } from '../harness/clock.ts';

import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, completeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { OPENID } from './options.ts';

const now = (): number => Math.floor(Date.now() / 1000);

const HOST_PAGE = 'https://id.example/login';

/**
 * A platform whose users log in at the host, and an app to which Ann has consented, who has given her password there an hour ago.
 *
 * @param given.says - whether the host says when
 * @param given.url - the host's login page
 */
async function start({ says = true, url }: { says?: boolean; url?: string | undefined } = {}) {
  const host: { id: string; at: number | undefined } = { id: '1', at: now() - 3600 };
  const platform = await startPlatform({
    openid: OPENID,
    tokens: { lifetimes: { session: '1 day', sessionAbsolute: '30 days' } },
    login: {
      currentUser: () => platform.users.all.find(({ id }) => id === host.id),
      ...(says && { authenticatedAt: () => host.at }),
      url,
    },
  });
  const app = await platform.registerApp();
  const browser = new Browser();
  const urlOf = (parameters: Record<string, string> = {}): URL =>
    authorizeUrl(platform, app, { scope: 'openid', ...parameters });
  /** The claims of the ID token for the code that the app gets. */
  async function claimsOf({ searchParams }: URL) {
    const { body } = await exchangeCode(platform, app, searchParams.get('code'));
    return { ...decodeJwt<{ auth_time?: number }>(body.id_token!), raw: body.id_token! };
  }
  return {
    host,
    platform,
    browser,
    claimsOf,
    ask: async (parameters: Record<string, string>): Promise<Page> => browser.open(urlOf(parameters)),
    first: await claimsOf(await completeFlow(browser, urlOf())),
    [Symbol.asyncDispose]: async () => platform[Symbol.asyncDispose](),
  };
}

/** The host's login page, to which a browser was sent, and the page to which that sends it back. */
function atHost(t: { is(a: unknown, b: unknown): unknown }, { location }: Page) {
  t.is(`${location?.origin}${location?.pathname}`, HOST_PAGE);
  return {
    prompt: location!.searchParams.get('prompt'),
    back: location!.searchParams.get('return_to')!,
  };
}

test.serial('auth_time is when the user has logged in at the host, and max_age counts from it', async (t) => {
  using _clock = stopClock();
  await using setup = await start();
  const { ask, browser, claimsOf, first, host } = setup;
  t.is(first.auth_time, now() - 3600);
  const silent = await ask({ max_age: '600', prompt: 'none' });
  t.is(silent.location!.searchParams.get('error'), 'login_required');
  t.is((await claimsOf((await ask({ max_age: '3600' })).location!)).auth_time, now() - 3600);
  t.is((await claimsOf((await ask({ max_age: '3600', prompt: 'none' })).location!)).auth_time, now() - 3600);

  // Whoever has logged in at the host meanwhile need not do so again.
  passTime(10);
  host.at = now() - 5;
  t.is((await claimsOf((await ask({ max_age: '600' })).location!)).auth_time, now() - 5);

  // Nor whoever has given the password here.
  host.at = now() - 3600;
  passTime(3600);
  const login = await ask({ max_age: '600' });
  t.is(login.heading, 'Sign in');
  t.is((await claimsOf((await signIn(browser, login)).location!)).auth_time, now());
  const again = await ask({ max_age: '600', prompt: 'none' });
  t.is((await claimsOf(again.location!)).auth_time, now());
});

test.serial(
  'what asks for a login of a user of the host leads to the host, until there was one',
  async (t) => {
    using _clock = stopClock();
    await using setup = await start({ url: HOST_PAGE });
    const { ask, browser, claimsOf, host, platform } = setup;
    for (const parameters of [
      { max_age: '600' },
      { max_age: '0' },
      { prompt: 'login' },
      { prompt: 'login', max_age: '100000' },
      { prompt: 'select_account' },
    ]) {
      const title = JSON.stringify(parameters);
      passTime(3600);
      const { back, prompt } = atHost(t, await ask(parameters));
      t.is(prompt, 'login', title);
      // The host has sent the browser back at once.
      const page = await browser.open(back);
      t.deepEqual([page.status, page.heading], [200, 'Sign in'], title);
      t.like(platform.logger.lines.at(-1), {
        level: 'warn',
        fields: { user_id: '1' },
        message:
          'the page at login.url has not had the user log in again, which it has to where the URL has prompt=login',
      });
      host.at = now();
      const { location } = await browser.open(back);
      t.is((await claimsOf(location!)).auth_time, now(), title);
    }
    // A login that the host remembers is none.
    passTime(3600);
    host.id = '';
    const { back } = atHost(t, await ask({ prompt: 'login' }));
    host.id = '1';
    t.is((await browser.open(back)).heading, 'Sign in');
  },
);

test.serial(
  'a host that does not say when: no auth_time and no max_age is met, until its login page was shown',
  async (t) => {
    using _clock = stopClock();
    await using setup = await start({ says: false, url: HOST_PAGE });
    const { ask, browser, claimsOf, first } = setup;
    t.false('auth_time' in first);
    const silent = await ask({ max_age: '100000', prompt: 'none' });
    t.is(silent.location!.searchParams.get('error'), 'login_required');
    const { back, prompt } = atHost(t, await ask({ max_age: '600' }));
    t.is(prompt, 'login');
    t.is((await claimsOf((await browser.open(back)).location!)).auth_time, now());
    passTime(500);
    const claims = await claimsOf((await ask({ max_age: '600', prompt: 'none' })).location!);
    t.is(claims.auth_time, now() - 500);
    passTime(500);
    atHost(t, await ask({ max_age: '600' }));
  },
);

test.serial('a login at the host that is older than a session may be begins one', async (t) => {
  using _clock = stopClock();
  await using setup = await start();
  const { ask, claimsOf, host } = setup;
  host.at = now() - 400 * 86_400;
  passTime(2 * 86_400);
  const { auth_time: at } = await claimsOf((await ask({})).location!);
  t.is(at, host.at);
  t.is((await ask({ prompt: 'none' })).location!.searchParams.get('error'), null);
});

test.serial('an app that means another user than the host’s: the login page, and no loop', async (t) => {
  for (const url of [undefined, HOST_PAGE]) {
    await using setup = await start({ url });
    const { ask, browser, claimsOf } = setup;
    const page = await ask({ claims: JSON.stringify({ id_token: { sub: { value: '2' } } }) });
    if (url !== undefined) t.is(atHost(t, page).prompt, 'login');
    const login = url === undefined ? page : await browser.open(atHost(t, page).back);
    t.is(login.heading, 'Sign in');
    const consent = await signIn(browser, login, 'bob@school.example', 'battery staple');
    const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
    t.is((await claimsOf(location!)).sub, '2');
  }
});

test.serial('a time that is none of a login is an error of the host', async (t) => {
  for (const [at, shown] of [
    [Date.now(), /this is \d{13}/],
    [Number.NaN, /this is NaN/],
    [new Date(), /this is \w*Date /],
  ] as const) {
    await using platform = await startPlatform({
      openid: OPENID,
      login: { currentUser: () => platform.users.all[0], authenticatedAt: () => at as number },
    });
    const page = await new Browser().open(authorizeUrl(platform, await platform.registerApp()));
    t.is(page.status, 500);
    const { err } = platform.logger.lines.find(({ level }) => level === 'error')!.fields as { err: Error };
    t.is(err.name, 'ConfigError');
    t.regex(err.message, /^login\.authenticatedAt: return seconds since 1970 that are not in the future/);
    t.regex(err.message, shown);
  }
});
