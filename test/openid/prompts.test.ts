import { passTime, stopClock } from '../harness/clock.ts';

import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { pkce } from '../harness/pkce.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { OPENID } from './options.ts';

const TWO_LANGUAGES = pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] });

const BOB = { person: 'bob@school.example', password: 'battery staple' };

/** A platform with an app, and a browser in which Ann signs in to it. */
async function start(...[given, mounting]: Parameters<typeof startPlatform>) {
  const platform = await startPlatform({ openid: OPENID, ...given }, mounting);
  const app = await platform.registerApp();
  const browser = new Browser();
  /** The claims of the ID token for a code, and the token itself. */
  async function claimsOf({ searchParams }: { searchParams: URLSearchParams }, of = app) {
    const { body } = await exchangeCode(platform, of, searchParams.get('code'));
    const raw = body.id_token!;
    return { ...decodeJwt<{ auth_time: number; name?: string; sid: string }>(raw), raw };
  }
  const ask = async (parameters: Record<string, string>) =>
    browser.open(authorizeUrl(platform, app, { scope: 'openid', ...parameters }));
  return {
    platform,
    app,
    browser,
    ask,
    claimsOf,
    errorOf: async (parameters: Record<string, string>) =>
      (await ask(parameters)).location?.searchParams.get('error'),
    /** Signs a user in. Resolves to the claims of the ID token. */
    claimsFor: async (
      parameters: Record<string, string> = {},
      more: Parameters<typeof authorize>[2] = {},
    ) => {
      const all = { scope: 'openid', ...parameters };
      const searchParams = await authorize(platform, app, { browser, ...more, parameters: all });
      return claimsOf({ searchParams });
    },
    [Symbol.asyncDispose]: async () => platform[Symbol.asyncDispose](),
  };
}

test.serial('a nonce arrives byte for byte, through login, consent and a switch of the user', async (t) => {
  await using setup = await start();
  const { ask, browser, claimsOf, platform } = setup;
  const nonce = `+ %20&="\\'ü🦊${'n'.repeat(300)}`;
  const page = await signIn(browser, await ask({ nonce, login_hint: 'ann@school.example' }));
  const login = await browser.follow(await browser.submit(page, 'Not you?'));
  t.is(login.heading, 'Sign in');
  const consent = await signIn(browser, login, BOB.person, BOB.password);
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.like(await claimsOf(location!), { sub: '2', nonce });

  // An app sees its own nonce only, and none where it sent none.
  const other = await platform.registerApp();
  const searchParams = await authorize(platform, other, { browser, parameters: { scope: 'openid' } });
  t.false('nonce' in (await claimsOf({ searchParams }, other)));
});

test.serial('prompt=none never shows a page', async (t) => {
  await using setup = await start();
  const { ask, browser, claimsFor, platform } = setup;
  const silently = async (more: Record<string, string> = {}): Promise<string | null> => {
    const { location, status } = await ask({ prompt: 'none', ...more });
    t.is(status, 303);
    t.is(location!.origin, 'https://reports.example');
    t.is(location!.searchParams.get('state'), 'xyz');
    t.is(location!.searchParams.get('iss'), platform.auth.issuer);
    return location!.searchParams.get('error');
  };
  t.is(await silently(), 'login_required');
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  t.is(await silently(), 'consent_required');
  const { raw } = await claimsFor();
  const ofBob = (await claimsFor({}, { browser: new Browser(), ...BOB })).raw;
  for (const [parameters, error] of [
    [{}, null],
    [{ id_token_hint: raw }, null],
    [{ claims: '{"id_token":{"sub":{"value":"1"}}}' }, null],
    [{ claims: '{"id_token":{"sub":{"value":"2"}}}' }, 'login_required'],
    // More scopes than the user has consented to.
    [{ scope: 'openid email' }, 'consent_required'],
    [{ prompt: 'none login' }, 'invalid_request'],
    [{ prompt: 'none select_account' }, 'invalid_request'],
    [{ id_token_hint: ofBob }, 'login_required'],
    [{ id_token_hint: 'x.y.z' }, 'invalid_request'],
  ] as const)
    t.is(await silently(parameters), error, JSON.stringify(parameters));
  t.is((await ask({ id_token_hint: ofBob })).heading, 'Sign in');

  // Where the redirect URI is wrong, the error stays on a page here.
  const page = await ask({ prompt: 'none', redirect_uri: 'https://evil.example/' });
  t.deepEqual([page.status, page.location], [400, undefined]);
});

test.serial('prompt and max_age ask again, and auth_time says when the user has logged in', async (t) => {
  await using setup = await start({ interactions: TWO_LANGUAGES });
  const { ask, browser, claimsFor, claimsOf, errorOf } = setup;
  using _clock = stopClock();
  const first = await claimsFor();
  passTime(100);
  const silent = await claimsFor();
  t.is(silent.auth_time, first.auth_time);
  t.is(silent.iat! - first.iat!, 100);
  // Still young enough.
  t.truthy((await ask({ max_age: '100' })).location);

  for (const again of [
    { max_age: '99' },
    { max_age: '0' },
    { prompt: 'login' },
    { prompt: 'select_account' },
  ]) {
    passTime(100);
    const login = await ask(again);
    t.is(login.heading, 'Sign in', JSON.stringify(again));
    const claims = await claimsOf((await signIn(browser, login)).location!);
    t.is(claims.auth_time, claims.iat!, JSON.stringify(again));
    t.is(claims.sid, first.sid);
  }
  t.is((await ask({ prompt: 'consent' })).heading, 'Authorize Reports');
  t.is(await errorOf({ max_age: '-1' }), 'invalid_request');
  const german = await ask({ prompt: 'consent', ui_locales: 'de en' });
  t.regex(german.text, /Sie anmelden und beim nächsten Mal wiedererkennen/);
});

/** The parameter that asks for an `acr` in the ID token. */
const acr = (claim: object) => ({ claims: JSON.stringify({ id_token: { acr: claim } }) });

test.serial(
  'acr and amr are what the host says, and an essential acr that is not met is refused',
  async (t) => {
    await using setup = await start({
      openid: {
        ...OPENID,
        authenticationContext: (_ctx, user) =>
          user.id === '1' ? { acr: 'urn:mfa', amr: ['pwd', 'otp'] } : undefined,
      },
    });
    const { ask, claimsFor, errorOf } = setup;
    const claims = await claimsFor(acr({ essential: true, values: ['urn:mfa'] }));
    like(t, claims, { acr: 'urn:mfa', amr: ['pwd', 'otp'] });
    const unmet = acr({ essential: true, value: 'urn:key' });
    t.is(await errorOf(unmet), 'unmet_authentication_requirements');
    t.truthy((await ask({ acr_values: 'urn:key' })).location!.searchParams.get('code'));
    const ofBob = await claimsFor({}, { browser: new Browser(), ...BOB });
    t.false('acr' in ofBob || 'amr' in ofBob);
  },
);

test.serial('marks of the login at the host are in no ID token, and prompts go to the host', async (t) => {
  let loggedIn = true;
  await using setup = await start({
    login: { currentUser: () => (loggedIn ? setup.platform.users.all[0] : undefined), url: '/login' },
  });
  const claims = await setup.claimsFor();
  t.is(claims.sub, '1');
  t.false('amr' in claims);
  loggedIn = false;
  t.is(await setup.errorOf({ prompt: 'none' }), 'login_required');
});

test.serial('single claims are in the ID token on request, when their scope was granted', async (t) => {
  await using setup = await start({ openid: { ...OPENID, claimsInIdToken: false } });
  const { ask, claimsFor, errorOf } = setup;
  const scope = 'openid profile';
  const claims = JSON.stringify({
    userinfo: { email: { essential: true } },
    id_token: { name: null, email: { essential: true }, __proto__: null, sub: null, exp: { value: 1 } },
  });
  const token = await claimsFor({ scope, claims });
  t.is(token.name, 'Ann');
  t.false('email' in token);
  t.is(token.exp! - token.iat!, 3600);
  // However deep a value is.
  const deep = `{"id_token":{"name":null,"x":{"value":${'['.repeat(2500)}${']'.repeat(2500)}}}}`;
  t.is((await claimsFor({ scope, claims: deep })).name, 'Ann');
  for (const wrong of ['{', '[]', '{}', '{"userinfo":1}'])
    t.is(await errorOf({ claims: wrong }), 'invalid_request');
  // Without openid they are unknown parameters, which are ignored.
  const plain = await ask({ scope: 'schools:read', claims: '{', nonce: 'n', max_age: 'x' });
  t.is(plain.heading, 'Authorize Reports');
});

test.serial('a posted authorization request is answered as one in the URL', async (t) => {
  await using setup = await start({}, { path: '/auth' });
  const { app, browser, claimsOf, platform } = setup;
  const { searchParams } = authorizeUrl(platform, app, { scope: 'openid', nonce: 'n+n' });
  const posted = await browser.post(platform.url('/oauth/authorize'), searchParams, {
    origin: 'https://reports.example',
    'sec-fetch-site': 'cross-site',
  });
  t.is(posted.status, 303);
  const consent = await signIn(browser, await browser.follow(posted));
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.like(await claimsOf(location!), { nonce: 'n+n' });
  searchParams.append('nonce', '2');
  t.is((await browser.post(platform.url('/oauth/authorize'), searchParams)).status, 400);
  searchParams.delete('nonce');
  searchParams.set('state', 'ü'.repeat(2400));
  const long = await browser.post(platform.url('/oauth/authorize'), searchParams);
  t.is(long.status, 413, 'its URL would not be accepted');
  t.true(long.text.includes('The request is too long: send at most 13000 characters.'), long.text);
});

test.serial('a user who is slower than max_age at the consent page logs in once', async (t) => {
  await using platform = await startPlatform({ openid: OPENID });
  using _clock = stopClock();
  // A consent for such a redirect URI is not remembered.
  const app = await platform.registerApp({
    redirectUris: ['com.example.app:/callback'],
    confidential: false,
    native: true,
  });
  const browser = new Browser();
  const parameters = { scope: 'openid', max_age: '5', ...pkce().parameters };
  const login = await browser.open(authorizeUrl(platform, app, parameters));
  passTime(10);
  const consent = await signIn(browser, login);
  passTime(10);
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(location?.searchParams.get('code'));
});
