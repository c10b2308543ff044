// The requests of two products that cannot be run here, with their parameters, headers and order, and what they check of the answers.
// Facts of these sources, of which there is no code here:
//
// - Moodle's OAuth 2 services: moodle/moodle, lib/oauthlib.php (0d8475bd993f), lib/classes/oauth2/client.php (038fab01fc5c) and
//   lib/classes/oauth2/discovery/{base_definition,openidconnect}.php (04975560d10b, 3edac87e2034)
// - Moodle's plugin for OpenID Connect: microsoft/moodle-auth_oidc 5.0.4, classes/oidcclient.php (548d8db0165f)
// - Nextcloud's user_oidc: nextcloud/user_oidc 8.11.0-dev, lib/Controller/LoginController.php, lib/Service/{DiscoveryService,OIDCService,
//   TokenService}.php (46ae8fda80b5)
// - Nextcloud's sociallogin: zorn-v/nextcloud-social-login 6.5.4, lib/Provider/CustomOpenIDConnect.php with its Hybridauth
//   (513d2d56c070)
import { randomBytes } from 'node:crypto';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { compactVerify, decodeJwt, decodeProtectedHeader, importJWK } from 'jose';
import type { JWK, JWTPayload } from 'jose';

import { Browser } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { completeFlow, signIn, signOut, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { postForm, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { until } from '../harness/until.ts';
import { asClient } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { startPublicApps } from './told-apps.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ openid: true }, ON_LOOPBACK));
  return { platform };
});

const MOODLE = 'https://moodle.example/admin/oauth2callback.php';
const NEXTCLOUD = 'https://cloud.example/';
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly userinfo_endpoint: string;
  readonly end_session_endpoint: string;
  readonly jwks_uri: string;
  readonly scopes_supported: readonly string[];
  readonly code_challenge_methods_supported: readonly string[];
  readonly token_endpoint_auth_methods_supported: readonly string[];
}

async function discover(): Promise<Metadata> {
  const { platform } = await started();
  const { status, body } = await send(`${platform.auth.issuer}/.well-known/openid-configuration`);
  if (status !== 200) throw new Error(`discovery answers with ${status}`);
  return body as unknown as Metadata;
}

/** PHP's `http_build_query`: in the order given, with `+` for a space. */
const query = (parameters: Record<string, string>): string => String(new URLSearchParams(parameters));

/** The query of Moodle's URLs: in the order given, with `%20` for a space. */
const rawQuery = (parameters: Record<string, string>): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');

const random = (length: number): string => randomBytes(length).toString('hex').slice(0, length).toUpperCase();

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
  readonly expires_in: number;
}

function tokensOf(t: ExecutionContext, { status, body }: Answer): Tokens {
  t.is(status, 200, JSON.stringify(body));
  return body as unknown as Tokens;
}

for (const basicAuth of [false, true]) {
  test(`Moodle's OAuth 2 service, ${basicAuth ? 'with' : 'without'} "authenticate token requests via HTTP headers"`, async (t) => {
    const { platform } = await started();
    const app = await platform.registerApp({ name: 'Moodle', redirectUris: [MOODLE] });
    const metadata = await discover();
    // It keeps each member that ends with _endpoint, and the scopes as a line.
    t.regex(metadata.scopes_supported.join(' '), /openid.*profile.*email/);

    // The state is its session key; there is neither a nonce nor PKCE.
    const request = {
      client_id: app.client.id,
      response_type: 'code',
      redirect_uri: MOODLE,
      state: random(10),
      scope: 'openid profile email',
    };
    const back = await completeFlow(new Browser(), `${metadata.authorization_endpoint}?${rawQuery(request)}`);
    t.is(back.searchParams.get('state'), request.state);

    const inHeader = `Basic ${Buffer.from(`${app.client.id}:${app.secret}`).toString('base64')}`;
    const accept = { accept: 'application/json' };
    const headers = basicAuth ? { authorization: inHeader, ...accept } : accept;
    const inBody = basicAuth ? {} : asClient(app);
    const code = {
      code: back.searchParams.get('code')!,
      grant_type: 'authorization_code',
      redirect_uri: MOODLE,
    };
    const tokens = tokensOf(t, await postForm(metadata.token_endpoint, { ...code, ...inBody }, headers));
    t.is(typeof tokens.expires_in, 'number');

    const bearer = { authorization: `Bearer ${tokens.access_token}`, ...accept };
    const { body: userinfo } = await send(metadata.userinfo_endpoint, { headers: bearer });
    // The claims of both, userinfo first; without a user name, the address is one.
    t.like({ ...decodeJwt(tokens.id_token), ...userinfo }, { sub: '1', email: 'ann@school.example' });

    const refresh = { refresh_token: tokens.refresh_token, grant_type: 'refresh_token', ...inBody };
    const refreshed = tokensOf(t, await postForm(metadata.token_endpoint, refresh, headers));
    t.truthy(refreshed.access_token);
    if (basicAuth) return;
    // A service account that lacks a scope still has its access token, which Moodle adds to each of its requests. The engine takes any
    // Authorization header for a second way of authentication (RFC 6749 section 2.3).
    const withToken = { authorization: `Bearer ${refreshed.access_token}`, ...accept };
    const again = { ...refresh, refresh_token: refreshed.refresh_token };
    const refused = await postForm(metadata.token_endpoint, again, withToken);
    t.is(refused.status, 400);
    t.like(refused.body, { error: 'invalid_request' });
    // Nothing is lost: without it, the same refresh token is good.
    tokensOf(t, await postForm(metadata.token_endpoint, again, accept));
  });
}

test("Moodle's plugin of Microsoft gets its answer by form_post", async (t) => {
  const { platform } = await started();
  const redirectUri = 'https://moodle.example/auth/oidc/';
  const app = await platform.registerApp({ name: 'Moodle', redirectUris: [redirectUri] });
  const request = {
    response_type: 'code',
    client_id: app.client.id,
    scope: 'openid profile email',
    nonce: `N${random(13)}`,
    response_mode: 'form_post',
    state: random(15),
    redirect_uri: redirectUri,
  };
  const { authorization_endpoint: endpoint } = await discover();
  const browser = new Browser();
  const consent = await signIn(browser, await browser.open(`${endpoint}?${rawQuery(request)}`));
  const page = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(page.status, 200);
  t.is(page.heading, 'Back to Moodle');
  t.is(page.actionOf('Continue to https://moodle.example').href, redirectUri);
  t.is(page.hiddenFields()['state'], request.state);
  t.truthy(page.hiddenFields()['code']);
  // Its administrator has to empty the field "Resource".
  const wrong = await browser.get(
    `${endpoint}?${rawQuery({ ...request, resource: 'https://graph.microsoft.com' })}`,
  );
  t.is(wrong.hiddenFields()['error'], 'invalid_target');
});

test("Nextcloud's sociallogin", async (t) => {
  const { platform } = await started();
  const redirectUri = `${NEXTCLOUD}apps/sociallogin/custom_oidc/acme`;
  const app = await platform.registerApp({ name: 'Nextcloud', redirectUris: [redirectUri] });
  // Its administrator copies the endpoints.
  const metadata = await discover();
  const request = {
    response_type: 'code',
    client_id: app.client.id,
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    state: `HA-${random(36)}`,
  };
  const back = await completeFlow(new Browser(), `${metadata.authorization_endpoint}?${query(request)}`);
  const exchange = {
    ...asClient(app),
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    code: back.searchParams.get('code')!,
  };
  const tokens = tokensOf(t, await postForm(metadata.token_endpoint, exchange));
  // It reads the payload of the ID token, then userinfo.
  t.is(decodeJwt(tokens.id_token).sub, '1');
  const { body } = await send(metadata.userinfo_endpoint, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  });
  t.like(body, { name: 'Ann', email: 'ann@school.example' });
});

/** The key that user_oidc takes for a token: by `kid`, among those of the type of its algorithm, and strong. */
async function payloadOf(t: ExecutionContext, metadata: Metadata, token: string): Promise<JWTPayload> {
  const { body } = await send(metadata.jwks_uri);
  const { alg, kid } = decodeProtectedHeader(token);
  t.is(alg, 'RS256');
  const key = (body!['keys'] as JWK[])
    .filter(({ kty, use = 'sig' }) => kty === 'RSA' && use === 'sig')
    .find((one) => one.kid === kid);
  t.true(Buffer.from(key!.n!, 'base64url').length >= 256);
  const { payload } = await compactVerify(token, await importJWK(key!, key!.alg ?? alg));
  return JSON.parse(Buffer.from(payload).toString()) as JWTPayload;
}

/** Signs Ann in as user_oidc does, with its checks of the ID token. */
async function signInToNextcloud(
  t: ExecutionContext,
  { app, browser, metadata }: { app: RegisteredApp; browser: Browser; metadata: Metadata },
): Promise<Tokens & { readonly claims: JWTPayload }> {
  t.true(metadata.code_challenge_methods_supported.includes('S256'));
  const { verifier, parameters } = pkce(random(128));
  const wanted = { email: null, name: null, quota: null, groups: null };
  const request = {
    client_id: app.client.id,
    response_type: 'code',
    scope: 'openid email profile',
    redirect_uri: app.redirectUri,
    claims: JSON.stringify({ id_token: wanted, userinfo: wanted }),
    state: random(32),
    nonce: random(32),
    ...parameters,
  };
  const back = await completeFlow(browser, `${metadata.authorization_endpoint}?${query(request)}`);
  t.is(back.searchParams.get('state'), request.state);

  // It prefers client_secret_post.
  t.true(metadata.token_endpoint_auth_methods_supported.includes('client_secret_post'));
  const exchange = {
    code: back.searchParams.get('code')!,
    redirect_uri: app.redirectUri,
    grant_type: 'authorization_code',
    code_verifier: verifier,
    ...asClient(app),
  };
  const tokens = tokensOf(t, await postForm(metadata.token_endpoint, exchange));
  const claims = await payloadOf(t, metadata, tokens.id_token);
  t.true(claims.exp! > Date.now() / 1000);
  t.is(claims.iss, metadata.issuer);
  t.true([claims.aud].flat().includes(app.client.id));
  t.true([undefined, app.client.id].includes(claims['azp'] as string | undefined));
  t.is(claims['nonce'], request.nonce);
  t.like(claims, { sub: '1', name: 'Ann', email: 'ann@school.example' });
  return { ...tokens, claims };
}

test("Nextcloud's user_oidc signs in, refreshes and logs out, with and without an ID token", async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({
    name: 'Nextcloud',
    redirectUris: [`${NEXTCLOUD}apps/user_oidc/code`],
    postLogoutRedirectUris: [NEXTCLOUD],
  });
  const metadata = await discover();
  const browser = new Browser();
  const tokens = await signInToNextcloud(t, { app, browser, metadata });
  const bearer = { authorization: `Bearer ${tokens.access_token}` };
  const { body } = await send(metadata.userinfo_endpoint, { headers: bearer });
  t.like(body, { sub: '1', name: 'Ann', email: 'ann@school.example' });
  const refresh = { ...asClient(app), grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
  t.truthy(tokensOf(t, await postForm(metadata.token_endpoint, refresh)).access_token);

  // It does not encode the address. Without its setting "send ID token hint", the user is asked.
  const logout = `${metadata.end_session_endpoint}?post_logout_redirect_uri=${NEXTCLOUD}&client_id=${app.client.id}`;
  const asked = await browser.open(logout);
  t.is(asked.status, 200);
  const left = await browser.follow(await browser.submit(asked, 'Sign out'));
  t.is(left.location?.href, NEXTCLOUD);

  const { id_token: hint } = await signInToNextcloud(t, { app, browser, metadata });
  const { location } = await browser.open(`${logout}&id_token_hint=${hint}`);
  t.is(location?.href, NEXTCLOUD);
});

test("Nextcloud's user_oidc accepts the logout token of the session", async (t) => {
  const { platform } = await started();
  const path = '/apps/user_oidc/backchannel-logout/acme';
  await using nextcloud = await startPublicApps((_path, response) =>
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end('[]'),
  );
  const app = await platform.registerApp({
    name: 'Nextcloud',
    redirectUris: [`${NEXTCLOUD}apps/user_oidc/code`],
    backchannelLogoutUri: nextcloud.origin + path,
  });
  const metadata = await discover();
  const browser = new Browser();
  const { claims: session } = await signInToNextcloud(t, { app, browser, metadata });
  await signOut(platform, browser);
  await until(() => nextcloud.received.length > 0);

  const claims = await payloadOf(t, metadata, nextcloud.tokensOf(path)[0]!);
  for (const name of ['iss', 'aud', 'iat', 'exp', 'jti', 'events']) t.true(name in claims, name);
  t.true([claims.aud].flat().includes(app.client.id));
  t.truthy((claims['events'] as Record<string, unknown>)[EVENT]);
  t.false('nonce' in claims);
  t.is(claims.iss, metadata.issuer);
  t.true(claims.exp! >= Math.floor(Date.now() / 1000));
  // It finds its session by these three.
  t.deepEqual([claims['sid'], claims.sub, claims.iss], [session['sid'], session.sub, session.iss]);
});
