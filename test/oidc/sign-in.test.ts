import type { Context } from 'koa';
import test from '../harness/test.ts';
import type { AuthServerOptions, InteractionFlow } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, signedIn, startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

type Step = (ctx: Context, flow: InteractionFlow) => Promise<string | undefined>;

const STEPS: Readonly<Record<string, Step>> = {
  '/oauth/who': async (ctx, flow) => (await flow.currentUser(ctx))?.name,
  '/oauth/in': async (ctx, flow) => {
    const { login, password } = ctx.query as Record<string, string>;
    const user = await flow.verifyPassword(ctx, login!, password!);
    if (user) await flow.loginWithoutClient(ctx, user);
    return user?.name;
  },
};

/** A platform with two more pages: the signed-in user, and a sign-in without a form. */
async function startWithFlow(
  options: Parameters<typeof startPlatform>[0] = {},
  mounting: Parameters<typeof startPlatform>[1] = {},
): Promise<Platform & { readonly flow: InteractionFlow }> {
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
  return { ...platform, flow };
}

const started = shared(async (stack) => {
  const platform = stack.use(await startWithFlow());
  return { platform };
});

async function urlOf(path: string, query: Record<string, string> = {}): Promise<URL> {
  const { platform } = await started();
  const url = platform.url(path);
  url.search = String(new URLSearchParams(query));
  return url;
}

const ANN = { login: 'ann@school.example', password: 'correct horse' };
const signInUrl = async (): Promise<URL> => urlOf('/oauth/in', ANN);

async function signedInUser(browser: Browser, at?: Pick<Platform, 'url'>): Promise<string> {
  const { platform } = await started();
  return (await browser.get((at ?? platform).url('/oauth/who'))).html;
}

test('a user signs in without an authorization request, authorizes without a login page, and signs out', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  t.is(await signedInUser(browser), 'none');
  t.is((await browser.get(await urlOf('/oauth/in', { ...ANN, password: 'wrong' }))).html, 'none');
  t.deepEqual(browser.cookies, [], 'a wrong password starts no session');
  const page = await browser.get(await signInUrl());
  t.is(page.html, 'Ann');
  const lines = page.response.headers.getSetCookie().filter((line) => line.includes('_session_'));
  t.is(lines.length, 2);
  for (const line of lines) {
    const expires = Date.parse(/expires=([^;]+)/i.exec(line)![1]!);
    t.true(Math.abs(expires - Date.now() - 14 * 86_400_000) < 60_000, line);
  }
  t.is(await signedInUser(browser), 'Ann');
  const app = await platform.registerApp({ firstParty: true });
  const authorized = await browser.open(authorizeUrl(platform, app));
  t.truthy(authorized.location?.searchParams.get('code'), 'no login page');
  await browser.post(platform.url('/oauth/logout'), new URLSearchParams());
  t.is(await signedInUser(browser), 'none');
  t.false(browser.cookieField.includes('session'));
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
});

test('the session of an authorization is the session of the pages', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(platform, await platform.registerApp())));
  t.is(await signedInUser(browser), 'Ann');
});

test('a login does not use a session id that the browser had before (session fixation)', async (t) => {
  const { platform } = await started();
  const attacker = await signedIn(platform, 'bob@school.example', 'battery staple');
  for (const victim of [new Browser(), attacker]) {
    const fixed = attacker.cookieField;
    t.is((await victim.get(await signInUrl(), { cookie: fixed })).html, 'Ann');
    t.is((await new Browser().get(platform.url('/oauth/who'), { cookie: fixed })).html, 'none');
    t.is(await signedInUser(victim), 'Ann');
    await attacker.get(await signInUrl());
  }
});

test('another login of the same user preserves open consent pages', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  const consent = await signIn(browser, login);
  await browser.get(await signInUrl());
  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(end.location?.searchParams.get('code'));
});

test('return_to is always a path of the own origin', async (t) => {
  const { platform } = await started();
  const { flow } = platform;
  const returnTo = (path: unknown): string | null =>
    new URL(flow.loginUrl(path as string), platform.origin).searchParams.get('return_to');
  for (const [path, expected] of [
    ['/developer/apps?page=2#top', '/developer/apps?page=2#top'],
    ['/', '/'],
    ['/a b/ü?q=ü', '/a%20b/%C3%BC?q=%C3%BC'],
    ['/a/../b', '/b'],
    ['/\0//evil.example/..//', '/%00///'],
    [`/${'a'.repeat(7000)}`, `/${'a'.repeat(7000)}`],
  ] as const)
    t.is(returnTo(path), expected);
  for (const elsewhere of [
    'https://evil.example',
    '//evil.example',
    String.raw`/\evil.example`,
    String.raw`\\evil.example`,
    '/\t/evil.example',
    '/\r\n/evil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    '/a/../..//evil.example',
    '/%2e//evil.example',
    '///',
    'javascript:alert(1)',
    'data:text/html,x',
    'developer/apps',
    '?x',
    '',
    ' /x',
    undefined,
    ['/x'],
  ])
    t.is(returnTo(elsewhere), null, String(elsewhere));
  t.is(flow.loginUrl('//evil.example'), '/oauth/login');
  const browser = await signedIn(platform);
  for (const tooLong of [`/${'a'.repeat(8000)}`, `/${'ü'.repeat(1400)}`]) {
    const { location } = await browser.get(await urlOf('/oauth/login', { return_to: tooLong }));
    t.is(location?.pathname, '/account/apps');
    t.throws(() => flow.loginUrl(tooLong), {
      code: 'ERR_URL_TOO_LONG',
      message: 'The address of this page is too long to return to it after the sign-in.',
    });
  }

  await using below = await startWithFlow({}, { path: '/auth' });
  t.is(below.flow.loginUrl('/auth/account/apps'), '/auth/oauth/login?return_to=%2Fauth%2Faccount%2Fapps');
});

test('a logout at the host ends the session that came from the host', async (t) => {
  let hostUser: Person | undefined;
  await using own = await startWithFlow({ login: { currentUser: () => hostUser } });
  [hostUser] = own.users.all;
  const browser = new Browser();
  await authorize(own, await own.registerApp({ firstParty: true }), { browser });
  t.is(await signedInUser(browser, own), 'Ann');
  hostUser = undefined;
  t.is(await signedInUser(browser, own), 'none');
  await signIn(browser, await browser.open(own.url('/oauth/login')));
  t.is(await signedInUser(browser, own), 'Ann', 'a login on the bundled page starts a session');
});
