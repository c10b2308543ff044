import { randomBytes } from 'node:crypto';
import test from 'ava';

import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { createAuthorizationRequests } from '../../lib/login/authorization-request.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';

const storage = memoryStorage();
const platform = await startPlatform({ storage });
test.after.always(() => platform[Symbol.asyncDispose]());

// On loopback the name has the port, because cookies are shared by the ports of a host (RFC 6265 section 8.5).
const SESSION_COOKIE = `gatehouse_session_${new URL(platform.origin).port}`;

// The tolerance for the clocks of two nodes, in seconds (the default of the engine).
const TOLERANCE = 15;

function sessionOf(browser: Browser): string | undefined {
  return browser.cookies.find(({ name }) => name === SESSION_COOKIE)?.value;
}

function isExpired(page: Page): boolean {
  return page.status === 400 && page.heading === 'This sign-in is no longer open';
}

// Sets the clock ahead: the tests below it start afterwards.
test.serial('a login or consent page expires after an hour', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  const other = new Browser();
  const consent = await signIn(other, await other.open(authorizeUrl(platform, app)));
  t.is(consent.heading, 'Authorize Reports');
  passTime(3600 + TOLERANCE);
  t.true(isExpired(await browser.get(login.url)));
  t.true(
    isExpired(
      await browser.submit(login, 'Sign in', { login: 'ann@school.example', password: 'correct horse' }),
    ),
  );
  t.true(isExpired(await other.submit(consent, 'Authorize')));
  t.is(await storage.consents.find('1', app.client.id), undefined);
});

test.serial('an unused session ends after 14 days', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  passTime(13 * 86_400);
  t.truthy((await browser.open(authorizeUrl(platform, app))).location);
  passTime(14 * 86_400 + TOLERANCE);
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
});

test('an unknown login and a wrong password get the same response, and can be corrected', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await browser.open(authorizeUrl(platform, app));
  const pages = [];
  for (const [person, password] of [
    ['ann@school.example', 'wrong'],
    ['unknown@school.example', 'correct horse'],
    ['ann@school.example', 'correct horse '],
    ['ann@school.example', 'correct horse\u0000'],
  ] as const) {
    pages.push(await signIn(browser, page, person, password));
  }
  for (const refused of pages.slice(0, 3)) {
    t.is(refused.status, 422);
    t.true(refused.text.includes('Email or password is incorrect.'));
  }
  t.is(pages[3]!.status, 400);
  t.is(sessionOf(browser), undefined);
  t.is((await signIn(browser, page)).heading, 'Authorize Reports');
});

test('with a session other apps do not ask for a login', async (t) => {
  const browser = new Browser();
  await authorize(platform, await platform.registerApp(), { browser });
  const page = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  t.is(page.heading, 'Authorize Reports');
});

test('a login gives the session a new id, and the old id stops working', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const before = sessionOf(browser);
  const old = browser.cookies.filter(({ name }) => name.startsWith(SESSION_COOKIE));
  t.regex(before!, /^[\w-]{43}$/);

  await authorize(platform, app, { browser, parameters: { prompt: 'login' } });
  t.not(sessionOf(browser), before);

  const cookie = old.map(({ name, value }) => `${name}=${value}`).join('; ');
  const copied = await new Browser().get(authorizeUrl(platform, app, { prompt: 'none' }), { cookie });
  t.is(copied.location?.searchParams.get('error'), 'login_required');
});

test('a login of another user gives the session a new id', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const before = sessionOf(browser);
  const page = await browser.open(authorizeUrl(platform, app, { prompt: 'login' }));
  await signIn(browser, page, 'bob@school.example', 'battery staple');
  t.not(sessionOf(browser), before);
});

test('a forged or altered session cookie is ignored', async (t) => {
  const app = await platform.registerApp();
  const victim = new Browser();
  await authorize(platform, app, { browser: victim });
  const [session, signature] = [SESSION_COOKIE, `${SESSION_COOKIE}.sig`].map(
    (cookie) => victim.cookies.find(({ name }) => name === cookie)!.value,
  );
  for (const cookie of [
    `${SESSION_COOKIE}=${session}`,
    `${SESSION_COOKIE}=${session}; ${SESSION_COOKIE}.sig=x`,
    `${SESSION_COOKIE}=${session}x; ${SESSION_COOKIE}.sig=${signature}`,
    `${SESSION_COOKIE}=forged; ${SESSION_COOKIE}.sig=${signature}`,
    `${SESSION_COOKIE}=__proto__`,
    `${SESSION_COOKIE}=%00`,
  ]) {
    const page = await new Browser().get(authorizeUrl(platform, app, { prompt: 'none' }), { cookie });
    t.is(page.location?.searchParams.get('error'), 'login_required', cookie);
  }
});

test('after a login of another user during the flow, the code is for the new user', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const login = await browser.open(authorizeUrl(platform, app, { prompt: 'login', state: 'of-bob' }));
  const consent = await signIn(browser, login, 'bob@school.example', 'battery staple');
  t.is(consent.heading, 'Authorize Reports');
  t.true(consent.text.includes('Signed in as bob@school.example'));
  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(end.location?.searchParams.get('state'), 'of-bob');
  const { body } = await exchangeCode(platform, app, end.location!.searchParams.get('code'));
  const identity = await platform.api('/identity', body.access_token);
  t.like(identity.body['data'], { type: 'user', id: '2', name: 'Bob' });
});

test('concurrent requests in two tabs each get their own state and code', async (t) => {
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

test('concurrent logins in two browsers get their own sessions', async (t) => {
  const app = await platform.registerApp();
  const [ann, bob] = [new Browser(), new Browser()];
  const start = authorizeUrl(platform, app);
  const pages = await Promise.all([ann.open(start), bob.open(start)]);
  const consents = await Promise.all([
    signIn(ann, pages[0]),
    signIn(bob, pages[1], 'bob@school.example', 'battery staple'),
  ]);
  t.true(consents[0].text.includes('Signed in as ann@school.example'));
  t.true(consents[1].text.includes('Signed in as bob@school.example'));
});

test('a login sets the session in the browser that sends the password, not where the request began', async (t) => {
  const app = await platform.registerApp();
  const [attacker, victim] = [new Browser(), new Browser()];
  const login = await attacker.open(authorizeUrl(platform, app));
  t.deepEqual(attacker.cookies, [], 'before the login no cookie is set');
  await signIn(victim, login);
  t.is((await attacker.open(authorizeUrl(platform, app))).heading, 'Sign in');
  t.is((await attacker.get(login.url)).heading, 'Sign in');
  const uid = login.url.pathname.split('/').at(-1)!;
  const resumed = await attacker.get(`${platform.origin}/oauth/authorize/${uid}`);
  t.is(resumed.status, 400);
  t.is(resumed.location, undefined);
  t.is((await victim.open(authorizeUrl(platform, app))).heading, 'Authorize Reports');
});

test('a consent page cannot be opened or answered in another browser', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const foreign = new Browser();
  await authorize(platform, app, { browser: foreign });
  const scoped = authorizeUrl(platform, app, { scope: 'schools:read' });
  const consent = await signIn(browser, await browser.open(scoped));
  t.is(consent.heading, 'Authorize Reports');
  t.true(isExpired(await foreign.get(consent.url)));
  for (const button of ['Authorize', 'Deny', 'Not you?']) {
    t.true(isExpired(await foreign.submit(consent, button)), button);
  }
  const uid = consent.url.pathname.split('/').at(-1)!;
  const resumed = await foreign.get(`${platform.origin}/oauth/authorize/${uid}`);
  t.is(resumed.status, 400);
  t.is(resumed.location, undefined);

  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(end.location?.searchParams.get('code'), 'its own browser can answer it');
});

test('the URL of a page is refused when it was changed or encrypted by another server', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const { url } = await browser.open(authorizeUrl(platform, app));
  await using other = await startPlatform({ storage, secrets: { cookieKeys: ['x'.repeat(32)] } });
  const foreign = await new Browser().open(authorizeUrl(other, app));
  const own = url.pathname.split('/').at(-1)!;
  const bytes = Buffer.from(own, 'base64url');
  const changed = Array.from({ length: bytes.length }, (_, index) =>
    Buffer.from(bytes.with(index, bytes[index]! ^ 1)).toString('base64url'),
  );
  for (const uid of [
    foreign.url.pathname.split('/').at(-1)!,
    ...changed,
    bytes.subarray(0, -1).toString('base64url'),
    bytes.subarray(0, 12).toString('base64url'),
    `${own}AAAA`,
  ]) {
    t.true(isExpired(await browser.get(`${platform.origin}/oauth/interaction/${uid}`)), uid);
  }
  t.is((await browser.get(url)).heading, 'Sign in');
});

test('a request that another server encrypted with the same keys is refused', async (t) => {
  const tokens = { lifetimes: { interaction: 60 } } as Parameters<
    typeof createAuthorizationRequests
  >[0]['tokens'];
  const [one, other] = ['https://one.example', 'https://other.example'].map((issuer) =>
    createAuthorizationRequests({ issuer, tokens }, () => ['x'.repeat(32)]),
  );
  const request = { prompt: 'login', reasons: [], parameters: {} } as const;
  const text = one!.write(request);
  t.deepEqual(one!.read(text), request);
  t.is(other!.read(text), undefined);
});

test('the URLs of the pages tell neither the user, nor the session, nor the request', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app, { state: 'state-of-the-app' }));
  const consent = await signIn(browser, login);
  for (const { url } of [login, consent]) {
    t.true(url.pathname.length < 400, `${url.pathname.length} characters`);
    const text = Buffer.from(url.pathname.split('/').at(-1)!, 'base64url').toString('latin1');
    for (const known of ['state-of-the-app', app.client.id, 'consent', 'login', 'session', 'userId'])
      t.false(text.includes(known), known);
  }
});

test('a login of another user in a second tab ends the open pages of the first user', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  const consent = await signIn(browser, login);
  const next = await signIn(browser, login, 'bob@school.example', 'battery staple');
  t.true(next.text.includes('Signed in as bob@school.example'));
  t.true(isExpired(await browser.get(consent.url)));
  t.true(isExpired(await browser.submit(consent, 'Authorize')));
});

test('a request that is too long is an error: a redirect with a session, a page without', async (t) => {
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

test('unknown interaction ids get an error page', async (t) => {
  const browser = new Browser();
  await authorize(platform, await platform.registerApp(), { browser });
  for (const uid of ['x', 'x'.repeat(3000), '%00', '%E0%A4%A', '..%2f', '__proto__', "'--"]) {
    t.true(isExpired(await browser.get(`${platform.origin}/oauth/interaction/${uid}`)), uid);
    const resumed = await browser.get(`${platform.origin}/oauth/authorize/${uid}`);
    t.is(resumed.status, 400, uid);
    t.is(resumed.location, undefined, uid);
  }
});

test('a client that is disabled or deleted during the flow gets no code', async (t) => {
  for (const how of ['disable', 'delete'] as const) {
    const app = await platform.registerApp();
    const browser = new Browser();
    const consent = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
    const consented = await browser.submit(consent, 'Authorize');
    await platform.auth.clients[how](app.client.id);
    const end = await browser.get(consented.location!);
    t.is(end.status, 400, how);
    t.is(end.location, undefined, how);
    t.is(end.heading, 'This app is not known here', how);
  }
});

test('a login page of a client that was disabled since is an error page', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  await platform.auth.clients.disable(app.client.id);
  t.true(isExpired(await browser.get(login.url)));
});

test('cookies are set at login only: session and device, HttpOnly and SameSite=Lax', async (t) => {
  const browser = new Browser();
  const page = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  t.deepEqual(browser.cookies, []);
  await signIn(browser, page);
  const [device, ...ofSession] = browser.cookies;
  t.regex(device!.name, /^gatehouse_device_\d+$/);
  const [cookie, signature, ...more] = ofSession;
  t.deepEqual(more, []);
  t.regex(cookie!.name, /^gatehouse_session_\d+$/);
  t.is(signature!.name, `${cookie!.name}.sig`);
  for (const { httpOnly, path, sameSite } of [device!, cookie!, signature!])
    t.deepEqual({ httpOnly, path, sameSite }, { httpOnly: true, path: '/', sameSite: 'lax' });
});

test('auth.revoke({ user }) ends the session', async (t) => {
  const users = platform.users.all;
  users.push({ id: 'dan', name: 'Dan', email: 'dan@school.example', password: 'p', permissions: [] });
  const app = await platform.registerApp();
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(platform, app)), 'dan@school.example', 'p');
  await platform.auth.revoke({ user: 'dan' });
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
});

test('a user who is deleted during the flow gets no code', async (t) => {
  const users = platform.users.all;
  users.push({ id: 'eve', name: 'Eve', email: 'eve@school.example', password: 'p', permissions: [] });
  const app = await platform.registerApp();
  const browser = new Browser();
  const consent = await signIn(
    browser,
    await browser.open(authorizeUrl(platform, app)),
    'eve@school.example',
    'p',
  );
  t.is(consent.heading, 'Authorize Reports');
  users.splice(
    users.findIndex(({ id }) => id === 'eve'),
    1,
  );
  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.true(end.status < 500, String(end.status));
  t.falsy(end.location?.searchParams.get('code'));

  const next = await browser.open(authorizeUrl(platform, app));
  t.is(next.heading, 'Sign in', 'another user can sign in');
  t.is((await signIn(browser, next)).heading, 'Authorize Reports');
  const { status } = await runCodeFlow(platform, app, { browser });
  t.is(status, 200);
});

test('forwarded hosts and other origins in header fields do not change redirects', async (t) => {
  const app = await platform.registerApp();
  const page = await new Browser().get(authorizeUrl(platform, app), {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
    referer: 'https://evil.example/',
  });
  t.is(page.location?.origin, platform.origin);
});

test('servers on two ports of one host have separate sessions', async (t) => {
  await using neighbour = await startPlatform();
  const browser = new Browser();
  await authorize(platform, await platform.registerApp(), { browser });
  await authorize(neighbour, await neighbour.registerApp(), { browser });
  const again = authorizeUrl(platform, await platform.registerApp(), { prompt: 'none' });
  const answer = await browser.get(again);
  t.is(answer.location?.searchParams.get('error'), 'consent_required');
});
