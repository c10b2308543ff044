import { randomBytes } from 'node:crypto';
import test from '../harness/test.ts';

import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, authorizeUrl, signIn, signOut, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const storage = memoryStorage();
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage }));
  // On loopback the name has the port, because cookies are shared by the ports of a host (RFC 6265 section 8.5).
  const SESSION_COOKIE = `gatehouse_session_${new URL(platform.origin).port}`;
  return { platform, SESSION_COOKIE };
});

// The tolerance for the clocks of two nodes, in seconds (the default of the engine).
const TOLERANCE = 15;

const BOB = ['bob@school.example', 'battery staple'] as const;

async function sessionOf(browser: Browser): Promise<string | undefined> {
  const { SESSION_COOKIE } = await started();
  return browser.cookies.find(({ name }) => name === SESSION_COOKIE)?.value;
}

function isExpired(page: Page): boolean {
  return page.status === 400 && page.heading === 'This sign-in is no longer open';
}

/** The last part of the URL of a page: the encrypted request. */
function uidOf({ url }: Page): string {
  return url.pathname.split('/').at(-1)!;
}

// Sets the clock ahead: the tests below it start afterwards.
test.serial('a login or consent page expires after an hour', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  const other = new Browser();
  const consent = await signIn(other, await other.open(authorizeUrl(platform, app)));
  t.is(consent.heading, 'Authorize Reports');
  passTime(3600 + TOLERANCE);
  t.true(isExpired(await browser.get(login.url)));
  const ann = { login: 'ann@school.example', password: 'correct horse' };
  t.true(isExpired(await browser.submit(login, 'Sign in', ann)));
  t.true(isExpired(await other.submit(consent, 'Authorize')));
  t.is(await storage.consents.find('1', app.client.id), undefined);
});

test.serial('an unused session ends after 14 days', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  passTime(13 * 86_400);
  t.truthy((await browser.open(authorizeUrl(platform, app))).location);
  passTime(14 * 86_400 + TOLERANCE);
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
});

test('an unknown login and a wrong password get the same response, and can be corrected', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  const page = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  for (const [person, password] of [
    ['ann@school.example', 'wrong'],
    ['unknown@school.example', 'correct horse'],
    ['ann@school.example', 'correct horse '],
  ] as const) {
    const refused = await signIn(browser, page, person, password);
    t.is(refused.status, 422);
    t.true(refused.text.includes('Email or password is incorrect.'));
  }
  const malformed = await signIn(browser, page, 'ann@school.example', 'correct horse\u0000');
  t.is(malformed.status, 400);
  t.is(await sessionOf(browser), undefined);
  t.is((await signIn(browser, page)).heading, 'Authorize Reports');
});

test('a login gives the session a new id, and the old id stops working', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  for (const [id, person, password] of [
    ['1', 'ann@school.example', 'correct horse'],
    ['2', ...BOB],
  ] as const) {
    const before = await sessionOf(browser);
    t.regex(before!, /^[\w-]{43}$/);
    const cookie = browser.cookieField;
    const works = async (): Promise<boolean> => {
      const page = await new Browser().get(authorizeUrl(platform, app, { prompt: 'none' }), { cookie });
      return page.location?.searchParams.get('error') !== 'login_required';
    };
    t.true(await works());
    const login = await browser.open(authorizeUrl(platform, app, { prompt: 'login' }));
    const submitted = await browser.submit(login, 'Sign in', { login: person, password });
    // Before the redirect is followed.
    t.not(await sessionOf(browser), before);
    t.false(await works());
    const next = await browser.follow(submitted);
    const end = next.location ? next : await browser.follow(await browser.submit(next, 'Authorize'));
    t.false(await works());
    const { body } = await exchangeCode(platform, app, end.location!.searchParams.get('code'));
    t.like((await platform.api('/identity', body.access_token)).body['data'], { type: 'user', id });
  }
});

test('a forged or altered session cookie is ignored', async (t) => {
  const { platform, SESSION_COOKIE } = await started();
  const app = await platform.registerApp();
  const victim = new Browser();
  await authorize(platform, app, { browser: victim });
  const signature = victim.cookies.find(({ name }) => name === `${SESSION_COOKIE}.sig`)!.value;
  for (const session of [`${await sessionOf(victim)}x`, 'forged', '__proto__', '%00']) {
    const cookie = `${SESSION_COOKIE}=${session}; ${SESSION_COOKIE}.sig=${signature}`;
    const page = await new Browser().get(authorizeUrl(platform, app, { prompt: 'none' }), { cookie });
    t.is(page.location?.searchParams.get('error'), 'login_required', cookie);
  }
});

test('concurrent requests in two tabs each get their own state and code', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const one = await browser.open(authorizeUrl(platform, app, { state: 'one' }));
  const two = await browser.open(authorizeUrl(platform, app, { state: 'two', scope: 'schools:read' }));
  t.not(one.url.href, two.url.href);
  const consentTwo = await signIn(browser, two);
  const consentOne = await signIn(browser, one);
  t.false(consentOne.text.includes('See your schools'));
  t.true(consentTwo.text.includes('See your schools'));
  const endOne = await browser.follow(await browser.submit(consentOne, 'Authorize'));
  const endTwo = await browser.follow(await browser.submit(consentTwo, 'Authorize'));
  t.is(endOne.location?.searchParams.get('state'), 'one');
  t.is(endTwo.location?.searchParams.get('state'), 'two');
  t.not(endOne.location!.searchParams.get('code'), endTwo.location!.searchParams.get('code'));
});

test('a login sets the session in the browser that sends the password, not where the request began', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const [attacker, victim] = [new Browser(), new Browser()];
  const login = await attacker.open(authorizeUrl(platform, app));
  t.deepEqual(attacker.cookies, [], 'before the login no cookie is set');
  await signIn(victim, login);
  t.is((await attacker.open(authorizeUrl(platform, app))).heading, 'Sign in');
  t.is((await attacker.get(login.url)).heading, 'Sign in');
  const resumed = await attacker.get(platform.url(`/oauth/authorize/${uidOf(login)}`));
  t.is(resumed.status, 400);
  t.is(resumed.location, undefined);
  t.is((await victim.open(authorizeUrl(platform, app))).heading, 'Authorize Reports');
});

test('a consent page cannot be opened or answered in another browser', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const foreign = new Browser();
  await authorize(platform, app, { browser: foreign });
  const scoped = authorizeUrl(platform, app, { scope: 'schools:read' });
  const consent = await signIn(browser, await browser.open(scoped));
  t.is(consent.heading, 'Authorize Reports');
  t.true(isExpired(await foreign.get(consent.url)));
  for (const button of ['Authorize', 'Deny', 'Not you?'])
    t.true(isExpired(await foreign.submit(consent, button)), button);
  const resumed = await foreign.get(platform.url(`/oauth/authorize/${uidOf(consent)}`));
  t.is(resumed.status, 400);
  t.is(resumed.location, undefined);

  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(end.location?.searchParams.get('code'), 'its own browser can answer it');
});

test('a login of another user, or a logout, ends the open consent pages of the first user', async (t) => {
  const { platform } = await started();
  for (const end of [
    async (browser: Browser, login: Page) => signIn(browser, login, ...BOB),
    async (browser: Browser) => signOut(platform, browser),
  ]) {
    const app = await platform.registerApp();
    const browser = new Browser();
    const login = await browser.open(authorizeUrl(platform, app));
    const consent = await signIn(browser, login);
    t.is(consent.heading, 'Authorize Reports');
    t.is((await end(browser, login)).status, 200);
    t.true(isExpired(await browser.get(consent.url)));
    for (const button of ['Authorize', 'Deny', 'Not you?'])
      t.true(isExpired(await browser.submit(consent, button)), button);
    for (const user of ['1', '2']) t.is(await storage.consents.find(user, app.client.id), undefined);
  }
});

test('the URL of a page is refused when it was changed or encrypted by another server', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await browser.open(authorizeUrl(platform, app));
  // One with other keys, and one with the same keys and another issuer.
  await using other = await startPlatform({ storage, secrets: { cookieKeys: ['x'.repeat(32)] } });
  await using neighbour = await startPlatform({ storage });
  const own = uidOf(page);
  const bytes = Buffer.from(own, 'base64url');
  const changedAt = [0, 11, 12, 40, bytes.length - 17, bytes.length - 16, bytes.length - 1];
  for (const uid of [
    uidOf(await new Browser().open(authorizeUrl(other, app))),
    uidOf(await new Browser().open(authorizeUrl(neighbour, app))),
    ...changedAt.map((index) => Buffer.from(bytes.with(index, bytes[index]! ^ 1)).toString('base64url')),
    bytes.subarray(0, -1).toString('base64url'),
    bytes.subarray(0, 12).toString('base64url'),
    `${own}AAAA`,
    'x',
    'x'.repeat(3000),
    '%00',
    '%E0%A4%A',
    '..%2f',
    '__proto__',
  ]) {
    t.true(isExpired(await browser.get(platform.url(`/oauth/interaction/${uid}`))), uid);
    const resumed = await browser.get(platform.url(`/oauth/authorize/${uid}`));
    t.is(resumed.status, 400, uid);
    t.is(resumed.location, undefined, uid);
  }
  t.is((await browser.get(page.url)).heading, 'Sign in');
});

test('the URLs of the pages tell neither the user, nor the session, nor the request', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app, { state: 'state-of-the-app' }));
  for (const page of [login, await signIn(browser, login)]) {
    const { length } = page.url.pathname;
    t.true(length < 400, `${length} characters`);
    const text = Buffer.from(uidOf(page), 'base64url').toString('latin1');
    for (const known of ['state-of-the-app', app.client.id, 'consent', 'login', 'session', 'userId'])
      t.false(text.includes(known), known);
  }
});

test('a request that is too long is an error: a redirect with a session, a page without', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const long = authorizeUrl(platform, app, { state: randomBytes(5600).toString('base64url') });
  const page = await new Browser().get(long);
  t.is(page.status, 400);
  t.true(page.text.includes('the authorization request is too long'), page.text);
  const browser = new Browser();
  await authorize(platform, await platform.registerApp(), { browser });
  const { location } = await browser.get(long);
  t.is(location?.searchParams.get('error'), 'invalid_request');
  t.is(location?.searchParams.get('error_description'), 'the authorization request is too long');
  const fits = authorizeUrl(platform, app, { state: randomBytes(3000).toString('base64url') });
  t.is((await new Browser().open(fits)).heading, 'Sign in');
});

test('a client that is disabled or deleted during the flow gets no code', async (t) => {
  const { platform } = await started();
  for (const how of ['disable', 'delete'] as const) {
    const app = await platform.registerApp();
    const browser = new Browser();
    const login = await browser.open(authorizeUrl(platform, app));
    const consented = await browser.submit(await signIn(browser, login), 'Authorize');
    await platform.auth.clients[how](app.client.id);
    const end = await browser.get(consented.location!);
    t.is(end.status, 400, how);
    t.is(end.location, undefined, how);
    t.is(end.heading, 'This app is not known here', how);
    t.true(isExpired(await browser.get(login.url)), how);
  }
});
