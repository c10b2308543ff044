import { passTime, stopClock } from '../harness/clock.ts';

import test from 'ava';
import { decodeJwt } from 'jose';

import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';

/** A key of RSA takes longer to be made. */
const OPENID = { algorithm: 'ES256' } as const;
const TWO_LANGUAGES = pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] });

/** Redeems a code for an ID token, and returns its claims. */
async function claimsOf(
  platform: Platform,
  app: RegisteredApp,
  callback: URLSearchParams,
): Promise<Record<string, unknown>> {
  const { body } = await exchangeCode(platform, app, callback.get('code'));
  const { id_token: idToken } = body as unknown as { id_token: string };
  return Object.assign(decodeJwt<Record<string, unknown>>(idToken), { raw: idToken });
}

const ask = (
  platform: Platform,
  app: RegisteredApp,
  browser: Browser,
  parameters: Record<string, string>,
): Promise<Page> => browser.open(authorizeUrl(platform, app, { scope: 'openid', ...parameters }));

test.serial('a nonce arrives byte for byte, through login, consent and a switch of the user', async (t) => {
  await using platform = await startPlatform({ openid: OPENID });
  const app = await platform.registerApp();
  const nonce = `+ %20&="\\'ü🦊${'n'.repeat(300)}`;
  const browser = new Browser();
  const page = await signIn(
    browser,
    await ask(platform, app, browser, { nonce, login_hint: 'ann@school.example' }),
  );
  const login = await browser.follow(await browser.submit(page, 'Not you?'));
  t.is(login.heading, 'Sign in');
  const consent = await signIn(browser, login, 'bob@school.example', 'battery staple');
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  const claims = await claimsOf(platform, app, location!.searchParams);
  t.like(claims, { sub: '2', nonce });

  // An app sees its own nonce only, and none where it sent none.
  const other = await platform.registerApp();
  const next = await authorize(platform, other, { browser, parameters: { scope: 'openid' } });
  t.false('nonce' in (await claimsOf(platform, other, next)));
});

test.serial('prompt=none never shows a page', async (t) => {
  await using platform = await startPlatform({ openid: OPENID });
  const app = await platform.registerApp();
  const browser = new Browser();
  const silently = async (more: Record<string, string> = {}): Promise<string | null> => {
    const url = authorizeUrl(platform, app, { scope: 'openid', prompt: 'none', ...more });
    const { location, status } = await browser.open(url);
    t.is(status, 303);
    t.is(location!.origin, 'https://reports.example');
    t.is(location!.searchParams.get('state'), 'xyz');
    t.is(location!.searchParams.get('iss'), platform.auth.issuer);
    return location!.searchParams.get('error');
  };
  t.is(await silently(), 'login_required');
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  t.is(await silently(), 'consent_required');
  const { raw } = await claimsOf(
    platform,
    app,
    await authorize(platform, app, { browser, parameters: { scope: 'openid' } }),
  );
  t.is(await silently(), null);
  t.is(await silently({ id_token_hint: raw as string }), null);
  t.is(await silently({ claims: '{"id_token":{"sub":{"value":"1"}}}' }), null);
  t.is(await silently({ claims: '{"id_token":{"sub":{"value":"2"}}}' }), 'login_required');
  // More scopes than the user has consented to.
  t.is(await silently({ scope: 'openid email' }), 'consent_required');
  t.is(await silently({ prompt: 'none login' }), 'invalid_request');
  t.is(await silently({ prompt: 'none select_account' }), 'invalid_request');
  // Of Bob, whom the app expects.
  const bob = new Browser();
  const ofBob = await claimsOf(
    platform,
    app,
    await authorize(platform, app, {
      browser: bob,
      person: 'bob@school.example',
      password: 'battery staple',
      parameters: { scope: 'openid' },
    }),
  );
  t.is(await silently({ id_token_hint: ofBob['raw'] as string }), 'login_required');
  t.is(await silently({ id_token_hint: 'x.y.z' }), 'invalid_request');
  t.is((await ask(platform, app, browser, { id_token_hint: ofBob['raw'] as string })).heading, 'Sign in');

  // Where the redirect URI is wrong, the error stays on a page here.
  const url = authorizeUrl(platform, app, {
    scope: 'openid',
    prompt: 'none',
    redirect_uri: 'https://evil.example/',
  });
  const page = await browser.open(url);
  t.deepEqual([page.status, page.location], [400, undefined]);
});

test.serial('prompt and max_age ask again, and auth_time says when the user has logged in', async (t) => {
  await using platform = await startPlatform({ openid: OPENID, interactions: TWO_LANGUAGES });
  using _clock = stopClock();
  const app = await platform.registerApp();
  const browser = new Browser();
  const parameters = { scope: 'openid' };
  const first = await claimsOf(platform, app, await authorize(platform, app, { browser, parameters }));
  passTime(100);
  const silent = await claimsOf(platform, app, await authorize(platform, app, { browser, parameters }));
  t.is(silent['auth_time'], first['auth_time']);
  t.is((silent['iat'] as number) - (first['iat'] as number), 100);
  // Still young enough.
  t.truthy((await ask(platform, app, browser, { max_age: '100' })).location);

  for (const again of [
    { max_age: '99' },
    { max_age: '0' },
    { prompt: 'login' },
    { prompt: 'select_account' },
  ]) {
    passTime(100);
    const login = await ask(platform, app, browser, again);
    t.is(login.heading, 'Sign in', JSON.stringify(again));
    const { location } = await signIn(browser, login);
    const claims = await claimsOf(platform, app, location!.searchParams);
    t.is(claims['auth_time'], claims['iat'] as number, JSON.stringify(again));
    t.is(claims['sid'], first['sid']);
  }
  t.is((await ask(platform, app, browser, { prompt: 'consent' })).heading, 'Authorize Reports');
  t.is(
    (await ask(platform, app, browser, { max_age: '-1' })).location?.searchParams.get('error'),
    'invalid_request',
  );
  const german = await ask(platform, app, browser, { prompt: 'consent', ui_locales: 'de en' });
  t.regex(german.text, /Sie anmelden und beim nächsten Mal wiedererkennen/);
});

/** The parameters that ask for an `acr` in the ID token. */
const acr = (claim: object) => ({
  scope: 'openid',
  claims: JSON.stringify({ id_token: { acr: claim } }),
});

test.serial(
  'acr and amr are what the host says, and an essential acr that is not met is refused',
  async (t) => {
    await using platform = await startPlatform({
      openid: {
        ...OPENID,
        authentication: (_ctx, user) =>
          user.id === '1' ? { acr: 'urn:mfa', amr: ['pwd', 'otp'] } : undefined,
      },
    });
    const app = await platform.registerApp();
    const browser = new Browser();
    const parameters = acr({ essential: true, values: ['urn:mfa'] });
    const callback = await authorize(platform, app, { browser, parameters });
    t.like(await claimsOf(platform, app, callback), { acr: 'urn:mfa', amr: ['pwd', 'otp'] });
    const unmet = await ask(platform, app, browser, acr({ essential: true, value: 'urn:key' }));
    t.is(unmet.location!.searchParams.get('error'), 'unmet_authentication_requirements');
    t.truthy(
      (await ask(platform, app, browser, { acr_values: 'urn:key' })).location!.searchParams.get('code'),
    );

    const other = await authorize(platform, app, {
      person: 'bob@school.example',
      password: 'battery staple',
      parameters: { scope: 'openid' },
    });
    const claims = await claimsOf(platform, app, other);
    t.false('acr' in claims || 'amr' in claims);
  },
);

test.serial('marks of the login at the host are in no ID token, and prompts go to the host', async (t) => {
  let loggedIn = true;
  await using platform = await startPlatform({
    openid: OPENID,
    login: { currentUser: () => (loggedIn ? platform.users.all[0] : undefined), url: '/login' },
  });
  const app = await platform.registerApp();
  const browser = new Browser();
  const claims = await claimsOf(
    platform,
    app,
    await authorize(platform, app, { browser, parameters: { scope: 'openid' } }),
  );
  t.is(claims['sub'], '1');
  t.false('amr' in claims);
  loggedIn = false;
  const { location } = await ask(platform, app, browser, { prompt: 'none' });
  t.is(location!.searchParams.get('error'), 'login_required');
});

test.serial('single claims are in the ID token on request, when their scope was granted', async (t) => {
  await using platform = await startPlatform({ openid: { ...OPENID, idTokenClaims: false } });
  const app = await platform.registerApp();
  const claims = JSON.stringify({
    userinfo: { email: { essential: true } },
    id_token: { name: null, email: { essential: true }, __proto__: null, sub: null, exp: { value: 1 } },
  });
  const token = await claimsOf(
    platform,
    app,
    await authorize(platform, app, { parameters: { scope: 'openid profile', claims } }),
  );
  t.is(token['name'], 'Ann');
  t.false('email' in token);
  t.is((token['exp'] as number) - (token['iat'] as number), 3600);
  // However deep a value is.
  const deep = `{"id_token":{"name":null,"x":{"value":${'['.repeat(2500)}${']'.repeat(2500)}}}}`;
  const browser = new Browser();
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  const parameters = { scope: 'openid profile' };
  await authorize(platform, app, { browser, parameters });
  const again = await authorize(platform, app, { browser, parameters: { ...parameters, claims: deep } });
  t.is((await claimsOf(platform, app, again))['name'], 'Ann');
  for (const wrong of ['{', '[]', '{}', '{"userinfo":1}']) {
    const { location } = await ask(platform, app, browser, { claims: wrong });
    t.is(location!.searchParams.get('error'), 'invalid_request');
  }
  // Without openid they are unknown parameters, which are ignored.
  const plain = await ask(platform, app, browser, {
    scope: 'schools:read',
    claims: '{',
    nonce: 'n',
    max_age: 'x',
  });
  t.is(plain.heading, 'Authorize Reports');
});

test.serial('a posted authorization request is answered as one in the URL', async (t) => {
  await using platform = await startPlatform({ openid: OPENID }, { path: '/auth' });
  const app = await platform.registerApp();
  const browser = new Browser();
  const { searchParams } = authorizeUrl(platform, app, { scope: 'openid', nonce: 'n+n' });
  const posted = await browser.post(platform.url('/oauth/authorize'), searchParams, {
    origin: 'https://reports.example',
    'sec-fetch-site': 'cross-site',
  });
  t.is(posted.status, 303);
  const consent = await signIn(browser, await browser.follow(posted));
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.like(await claimsOf(platform, app, location!.searchParams), { nonce: 'n+n' });
  const twice = await browser.post(
    platform.url('/oauth/authorize'),
    new URLSearchParams(`${searchParams.toString()}&nonce=2`),
  );
  t.is(twice.status, 400);
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
  const code_challenge = 'a'.repeat(43);
  const login = await ask(platform, app, browser, {
    max_age: '5',
    code_challenge,
    code_challenge_method: 'S256',
  });
  passTime(10);
  const consent = await signIn(browser, login);
  passTime(10);
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(location?.searchParams.get('code'));
});
