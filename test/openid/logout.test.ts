import test from '../harness/test.ts';
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';

import { agents } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Person, RegisteredApp } from '../harness/platform.ts';
import { rotateSigningKey } from '../harness/signing-keys.ts';
import { breakable } from '../harness/storage.ts';
import { AGENT, appOf, registered } from '../agents/apps.ts';
import { OPENID } from './options.ts';

const BYE = 'https://reports.example/bye?from=acme';

/** A platform with an app, and a browser in which users sign in to it and out of it. */
async function start(...[given, mounting]: Parameters<typeof startPlatform>) {
  const platform = await startPlatform({ openid: OPENID, ...given }, mounting);
  const app = await platform.registerApp({ postLogoutRedirectUris: [BYE] });
  const browser = new Browser();
  return {
    platform,
    app,
    browser,
    /** Signs a user in to an app. Resolves to the ID token. */
    hintFor: async (options: Parameters<typeof runCodeFlow>[2] = {}, of: RegisteredApp = app) => {
      const { body } = await runCodeFlow(platform, of, {
        browser,
        parameters: { scope: 'openid' },
        ...options,
      });
      return body.id_token!;
    },
    /** Opens the URL by which an app signs its user out. */
    logOut: async (parameters: Record<string, string>, inBrowser = browser): Promise<Page> => {
      const url = platform.url('/oauth/logout');
      url.search = String(new URLSearchParams(parameters));
      return inBrowser.open(url);
    },
    isLoggedIn: async (inBrowser = browser): Promise<boolean> => {
      const url = authorizeUrl(platform, app, { scope: 'openid', prompt: 'none' });
      const error = (await inBrowser.open(url)).location!.searchParams.get('error');
      return error === null || error === 'consent_required';
    },
    [Symbol.asyncDispose]: async () => platform[Symbol.asyncDispose](),
  };
}

for (const path of ['', '/auth']) {
  test(`an app signs its user out with the ID token of the session: issuer with path "${path}"`, async (t) => {
    await using setup = await start({}, { path });
    const { app, hintFor, isLoggedIn, logOut, platform } = setup;
    const other = new Browser();
    const hint = await hintFor();
    const elsewhere = await hintFor({ browser: other });
    const ofHint = { id_token_hint: hint, post_logout_redirect_uri: BYE };
    const { status, location } = await logOut({ ...ofHint, state: 'a b&c=d#e' });
    t.is(status, 303);
    t.is(location!.href, `${BYE}&state=a%20b%26c%3Dd%23e`);
    t.false(await isLoggedIn());
    // The logout of one browser is none of the other.
    t.true(await isLoggedIn(other));
    t.not(decodeJwt(elsewhere)['sid'], decodeJwt(hint)['sid']);

    // Repeated, as by the back button: nobody is logged in any more.
    t.is((await logOut({ ...ofHint, client_id: app.client.id })).location!.href, BYE);

    // Posted from the site of the app, whose posts come without cookies: the browser sends them with the redirect.
    const posted = await new Browser().post(
      platform.url(path === '' ? '/oauth/logout' : '/oauth/Logout/'),
      new URLSearchParams({ id_token_hint: elsewhere, post_logout_redirect_uri: BYE }),
      { origin: 'https://reports.example', 'sec-fetch-site': 'cross-site' },
    );
    t.is(posted.status, 303);
    t.is(posted.response.headers.get('cache-control'), 'no-store');
    t.is((await other.open(posted.location!)).location!.href, BYE);
    t.false(await isLoggedIn(other));
  });
}

test('without an ID token of the session, the user is asked', async (t) => {
  await using setup = await start({
    interactions: pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] }),
  });
  const { app, browser, hintFor, isLoggedIn, logOut, platform } = setup;
  const hint = await hintFor();
  const bob = { person: 'bob@school.example', password: 'battery staple' };
  const ofBob = await hintFor({ browser: new Browser(), ...bob });
  const ofOtherBrowser = await hintFor({ browser: new Browser() });
  const asked = async (parameters: Record<string, string>): Promise<Page> => {
    const page = await logOut(parameters);
    t.is(page.status, 200);
    t.is(page.heading, 'Sign out of Acme Schools?');
    t.regex(page.html, /href="\/">Stay signed in</, 'whatever address the request names');
    t.true(await isLoggedIn());
    return page;
  };
  const back = { post_logout_redirect_uri: BYE, state: 's' };
  for (const id_token_hint of [ofBob, ofOtherBrowser]) {
    const page = await asked({ id_token_hint, ...back });
    t.regex(page.text, /Reports wants to sign you out\. You are signed in as ann@school\.example/);
    // The form leads to the app.
    t.notRegex(page.response.headers.get('content-security-policy')!, /form-action/);
  }
  const byId = await asked({ client_id: app.client.id, ...back });
  await asked({ state: 's' });
  // Empty parameters are the same as none, as at the other endpoints.
  t.notRegex((await asked({ client_id: '', id_token_hint: '', state: '' })).text, /wants to sign you out/);
  // Without an app, the URL belongs to nobody: the browser stays here.
  const ofNobody = await asked(back);
  t.regex(ofNobody.response.headers.get('content-security-policy')!, /form-action 'self'/);
  const done = await browser.submit(ofNobody, 'Sign out');
  t.is(done.heading, 'You are signed out');
  t.notRegex(done.text, /Continue to/);
  t.false(await isLoggedIn());

  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  t.is((await browser.submit(byId, 'Sign out')).location!.href, `${BYE}&state=s`);
  t.false(await isLoggedIn());

  // Another site cannot press the button.
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  const forged = await browser.post(platform.url('/oauth/logout'), new URLSearchParams(), {
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
  });
  t.is(forged.status, 403);
  t.true(await isLoggedIn());
  // The session is another one now, which the ID token is not of.
  await asked({ id_token_hint: hint });
  const german = await logOut({ client_id: app.client.id, ui_locales: 'de' });
  t.regex(german.text, /Reports möchte Sie abmelden\. Sie sind als ann@school.example angemeldet/);
});

test('a wrong request is refused on a page of the server, and signs nobody out', async (t) => {
  await using setup = await start();
  const { app, browser, hintFor, isLoggedIn, logOut, platform } = setup;
  const other = await platform.registerApp({ postLogoutRedirectUris: ['https://other.example/'] });
  const hint = await hintFor();
  const { body: tokens } = await runCodeFlow(platform, app, { browser, parameters: { scope: 'openid' } });
  const { privateKey } = await generateKeyPair('ES256');
  const forged = await new SignJWT(decodeJwt(hint))
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
    .sign(privateKey);
  const unsigned = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${hint.split('.')[1]}.`;
  const noToken = 'the id_token_hint is no ID token of this server';
  const noUri = 'the post_logout_redirect_uri is not registered for the client';
  const wrong: [parameters: Record<string, string>, description: string][] = [
    [{ id_token_hint: hint, post_logout_redirect_uri: 'https://evil.example/' }, noUri],
    [{ id_token_hint: hint, post_logout_redirect_uri: `${BYE}&more` }, noUri],
    [{ id_token_hint: hint, post_logout_redirect_uri: 'https://other.example/' }, noUri],
    [{ id_token_hint: hint, post_logout_redirect_uri: app.redirectUri }, noUri],
    [{ client_id: other.client.id, post_logout_redirect_uri: BYE }, noUri],
    [{ id_token_hint: forged, post_logout_redirect_uri: BYE }, noToken],
    [{ id_token_hint: unsigned, post_logout_redirect_uri: BYE }, noToken],
    [{ id_token_hint: tokens.access_token, post_logout_redirect_uri: BYE }, noToken],
    [{ id_token_hint: 'x' }, noToken],
    [
      { id_token_hint: hint, client_id: other.client.id },
      'the id_token_hint is of another client than the client_id',
    ],
    [{ client_id: 'unknown' }, 'the client is not known here'],
  ];
  for (const [parameters, description] of wrong) {
    const page = await logOut(parameters);
    t.deepEqual([page.status, page.location], [400, undefined], description);
    t.is(page.heading, 'This link is incomplete');
    t.true(page.text.includes(description), page.text);
  }
  const twice = `id_token_hint=${hint}&post_logout_redirect_uri=${BYE}&post_logout_redirect_uri=https://evil.example/`;
  const repeated = await browser.open(platform.url(`/oauth/logout?${twice}`));
  t.is(repeated.status, 400);
  t.regex(repeated.text, /send the parameter post_logout_redirect_uri once/);
  await platform.auth.clients.disable(other.client.id);
  t.is((await logOut({ client_id: other.client.id })).status, 400);
  t.true(await isLoggedIn());
});

test.serial(
  'after the ID token has expired, and a key was rotated, it still says which session is meant',
  async (t) => {
    await using setup = await start({ openid: { ...OPENID, idTokenLifetime: 1 } });
    const { hintFor, logOut, platform } = setup;
    const hint = await hintFor();
    await rotateSigningKey(platform);
    await rotateSigningKey(platform);
    t.is(decodeJwt(await hintFor())['sid'], decodeJwt(hint)['sid']);
    const { location } = await logOut({ id_token_hint: hint, post_logout_redirect_uri: BYE });
    t.is(location!.href, BYE);
  },
);

test.serial(
  'an ID token of a key that another node has just added is known, and one of another issuer with the same keys is none',
  async (t) => {
    const { broken, storage } = breakable();
    await using setup = await start({ storage });
    const { browser, hintFor, platform } = setup;
    let origin = '';
    await using node = await startPlatform(
      // It does not read the keys meanwhile.
      { openid: OPENID, storage, tokens: { revocationLag: 3600 } },
      { inFront: (own) => ((origin = own), platform.origin) },
    );
    await rotateSigningKey(platform);
    const hint = await hintFor();
    const ofUrl = `/oauth/logout?id_token_hint=${hint}&post_logout_redirect_uri=${encodeURIComponent(BYE)}`;
    const atNode = new Browser((url) => new URL(url.pathname + url.search, origin));
    broken.add('keys.list');
    t.is((await atNode.open(node.url(ofUrl))).status, 503, 'whether it is one is not known');
    broken.delete('keys.list');
    t.is((await atNode.open(node.url(ofUrl))).location!.href, BYE);

    await using other = await startPlatform({ openid: OPENID, storage });
    const page = await browser.open(other.url(ofUrl));
    t.is(page.status, 400);
    t.regex(page.text, /the id_token_hint is no ID token of this server/);
  },
);

test('where nobody is signed in, the browser goes on only to an app that shows an ID token of its own', async (t) => {
  await using setup = await start({
    features: [agents({ registration: { scopes: ['openid'] }, documents: false })],
  });
  const { app, hintFor, logOut, platform } = setup;
  const registration = await registered(platform, {
    ...AGENT,
    post_logout_redirect_uris: ['https://agent.example/bye'],
    scope: 'openid',
  });
  const stranger = await appOf(platform, registration);
  const [hint, own] = [await hintFor(), await hintFor({}, stranger)];
  const ofApp = { post_logout_redirect_uri: BYE, state: 's' };
  const ofStranger = { post_logout_redirect_uri: 'https://agent.example/bye', state: 's' };
  const open = async (parameters: Record<string, string>): Promise<Page> => logOut(parameters, new Browser());
  t.is((await open({ ...ofApp, id_token_hint: hint })).location!.href, `${BYE}&state=s`);
  for (const [parameters, label, href] of [
    [{ ...ofApp, client_id: app.client.id }, 'Continue to https://reports.example', `${BYE}&amp;state=s`],
    [
      { ...ofStranger, client_id: stranger.client.id },
      'Continue to https://agent.example',
      'https://agent.example/bye?state=s',
    ],
    // The stranger has an ID token, of the own account.
    [
      { ...ofStranger, id_token_hint: own },
      'Continue to https://agent.example',
      'https://agent.example/bye?state=s',
    ],
  ] as const) {
    const page = await open(parameters);
    t.deepEqual([page.status, page.location, page.heading], [200, undefined, 'You are not signed in']);
    t.true(page.html.includes(`<a class="button" href="${href}">${label}</a>`), page.html);
  }
  // Without a client, the URL is nobody's.
  t.false((await open(ofApp)).html.includes('reports.example'));
  // The user of the session has used the app.
  const { location } = await logOut({ ...ofStranger, id_token_hint: own });
  t.is(location!.href, 'https://agent.example/bye?state=s');
});

const policyOf = ({ response }: Page): string => response.headers.get('content-security-policy')!;

test('after a sign-out, the browser goes on to a page that the user has seen, and to a stranger only where the user has agreed to be sent', async (t) => {
  await using setup = await start({
    features: [agents({ registration: { scopes: ['openid'] }, documents: false })],
  });
  const { app, browser, hintFor, isLoggedIn, logOut, platform } = setup;
  const registration = await registered(platform, {
    ...AGENT,
    post_logout_redirect_uris: ['https://agent.example/bye', 'https://login.agent.example/bye'],
    scope: 'openid',
  });
  const stranger = await appOf(platform, registration);
  const signInHere = async () => signIn(browser, await browser.open(platform.url('/oauth/login')));
  const ask = async (of: RegisteredApp, uri: string) =>
    logOut({ client_id: of.client.id, post_logout_redirect_uri: uri, state: 's' });

  // Nobody vouches for the app, and the user does not know it.
  for (const uri of ['https://agent.example/bye', 'https://login.agent.example/bye']) {
    await signInHere();
    const question = await ask(stranger, uri);
    t.regex(question.text, /“Agent” wants to sign you out/);
    t.notRegex(question.text, /You will be sent/);
    t.regex(policyOf(question), /form-action 'self'/);
    const done = await browser.submit(question, 'Sign out');
    t.deepEqual([done.status, done.location, done.heading], [200, undefined, 'You are signed out']);
    t.true(
      done.html.includes(`<a class="button" href="${uri}?state=s">Continue to ${new URL(uri).origin}</a>`),
      done.html,
    );
    t.false(await isLoggedIn());
  }

  // The user has agreed to be sent to one of the hosts.
  const hint = await hintFor({}, stranger);
  const other = await ask(stranger, 'https://login.agent.example/bye');
  t.notRegex(other.text, /You will be sent/);
  const known = await ask(stranger, 'https://agent.example/bye');
  t.regex(known.text, /You will be sent to https:\/\/agent\.example/);
  t.notRegex(policyOf(known), /form-action/);
  t.is((await browser.submit(known, 'Sign out')).location!.href, 'https://agent.example/bye?state=s');
  // Also where the app ends the session without a question.
  const again = await hintFor({}, stranger);
  t.not(again, hint);
  const ended = await logOut({
    id_token_hint: again,
    post_logout_redirect_uri: 'https://login.agent.example/bye',
  });
  t.deepEqual([ended.location, ended.heading], [undefined, 'You are signed out']);
  t.true(ended.html.includes('>Continue to https://login.agent.example</a>'), ended.html);
  t.false(await isLoggedIn());

  // An app of the platform.
  await signInHere();
  const question = await ask(app, BYE);
  t.regex(question.text, /You will be sent to https:\/\/reports\.example/);
  t.is((await browser.submit(question, 'Sign out')).location!.href, `${BYE}&state=s`);
});

test.serial(
  'an ID token that an app has posted is in no URL, and does not stay in one for long',
  async (t) => {
    await using setup = await start();
    const { app, browser, hintFor, isLoggedIn, platform } = setup;
    const hint = await hintFor();
    const fromApp = { origin: 'https://reports.example', 'sec-fetch-site': 'cross-site' };
    const urls: URL[] = [];
    const post = async (path: string, parameters: Record<string, string>): Promise<URL> => {
      const form = new URLSearchParams({ id_token_hint: hint, ...parameters });
      const { location, status } = await browser.post(platform.url(path), form, fromApp);
      t.is(status, 303);
      urls.push(location!);
      return location!;
    };
    const request = Object.fromEntries(authorizeUrl(platform, app, { scope: 'openid' }).searchParams);
    // Of the same user: also after a login, with which the request goes on.
    const again = await post('/oauth/authorize', { ...request, prompt: 'login' });
    const login = await browser.open(again);
    t.is(login.heading, 'Sign in');
    const next = await browser.submit(login, 'Sign in', {
      login: 'ann@school.example',
      password: 'correct horse',
    });
    urls.push(login.url, next.location!);
    t.truthy((await browser.follow(next)).location!.searchParams.get('code'));
    const bob = { login: 'bob@school.example', password: 'battery staple' };
    const elsewhere = new Browser();
    const ofBob = await elsewhere.submit(await elsewhere.open(again), 'Sign in', bob);
    t.is((await elsewhere.follow(ofBob)).heading, 'Sign in', 'the app means another user');

    const logout = await post('/oauth/logout', { post_logout_redirect_uri: BYE });
    for (const { href } of urls) {
      for (const part of hint.split('.')) t.false(href.includes(part), href);
    }
    // Another server cannot read it, and this one not for long.
    const expired = new URL(logout);
    passTime(3601);
    t.is((await browser.open(expired)).status, 400);
    const { location } = await browser.open(await post('/oauth/logout', { post_logout_redirect_uri: BYE }));
    t.is(location!.href, BYE);
    t.false(await isLoggedIn());
  },
);

test('the logout also ends the session of the host, unless another user is logged in there', async (t) => {
  let signedOut = 0;
  let hostUser: Person | undefined;
  await using setup = await start({
    login: { currentUser: () => hostUser, logout: () => void (signedOut += 1) },
  });
  const { hintFor, logOut, platform } = setup;
  const parameters = { id_token_hint: await hintFor(), post_logout_redirect_uri: BYE };
  hostUser = platform.users.all.find(({ id }) => id === '2');
  for (const browser of [undefined, new Browser()]) {
    const page = await logOut(parameters, browser);
    t.deepEqual([page.status, page.location, signedOut], [200, undefined, 0]);
    t.regex(page.text, /Reports wants to sign you out\. You are signed in as bob@school\.example/);
  }
  hostUser = platform.users.all.find(({ id }) => id === '1');
  t.is((await logOut(parameters)).location!.href, BYE);
  t.is(signedOut, 1);
});

test('off, the parameters of an app are ignored', async (t) => {
  await using setup = await start({ openid: false });
  const { app, browser, logOut, platform } = setup;
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  const page = await logOut({ client_id: app.client.id, post_logout_redirect_uri: BYE });
  const done = await browser.submit(page, 'Sign out');
  t.deepEqual([done.status, done.heading, done.location], [200, 'You are signed out', undefined]);
});
