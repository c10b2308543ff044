import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';

import { passTime, resetClock } from '../harness/clock.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { postForm, postJson } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { IDP, idJag, JWT_BEARER, lastReason, present, REFUSED, startTrusted } from './identity-provider.ts';

test.afterEach.always(resetClock);

const grantOf = (token: string): unknown => decodeJwt(token)['grant_id'];

test('openid-client: its generic grant request, with a secret and with a key', async (t) => {
  await using platform = await startTrusted({}, { clients: { privateKeyJwt: true } });
  const app = await platform.registerApp();
  const options = { algorithm: 'oauth2' as const, execute: [openid.allowInsecureRequests] };
  const discover = async (id: string, authentication: openid.ClientAuth): Promise<openid.Configuration> =>
    openid.discovery(new URL(platform.auth.issuer), id, undefined, authentication, options);
  const config = await discover(app.client.id, openid.ClientSecretBasic(app.secret));
  t.true(config.serverMetadata().grant_types_supported!.includes(JWT_BEARER));
  t.deepEqual(config.serverMetadata()['authorization_grant_profiles_supported'], [
    'urn:ietf:params:oauth:grant-profile:id-jag',
  ]);
  const tokens = await openid.genericGrantRequest(config, JWT_BEARER, {
    assertion: await idJag(platform, app),
    scope: 'schools:read',
  });
  t.is(tokens.scope, 'schools:read');
  t.is(tokens.refresh_token, undefined);
  t.is((await platform.api('/schools', tokens.access_token)).status, 200);
  const introspected = await openid.tokenIntrospection(config, tokens.access_token);
  t.like(introspected, { active: true, sub: '1', client_id: app.client.id });
  t.like(decodeJwt(tokens.access_token), { principal: 'user', asserted_by: IDP });

  const pair = await makeKeyPair();
  const keys = { jwks: { keys: [pair.publicJwk] } };
  const withKey = await platform.registerApp({ keys });
  const ofKey = await discover(
    withKey.client.id,
    openid.PrivateKeyJwt({ key: pair.privateKey, kid: pair.publicJwk.kid! }),
  );
  const assertion = await idJag(platform, withKey);
  t.truthy((await openid.genericGrantRequest(ofKey, JWT_BEARER, { assertion })).access_token);
});

test('both content types are accepted, and both assertions in one request', async (t) => {
  await using platform = await startTrusted({}, { clients: { privateKeyJwt: true } });
  const pair = await makeKeyPair();
  const app = await platform.registerApp({ keys: { jwks: { keys: [pair.publicJwk] } } });
  for (const post of [postForm, postJson]) {
    const { body, status } = await post(platform.url('/oauth/token'), {
      grant_type: JWT_BEARER,
      client_id: app.client.id,
      assertion: await idJag(platform, app),
      ...(await assertionParameters(app.client.id, platform.auth.issuer, pair)),
    });
    t.is(status, 200, String(body!['error_description']));
  }
});

test('a lost answer: the same grant within the grace, and neither after it nor for another assertion', async (t) => {
  await using platform = await startTrusted();
  const app = await platform.registerApp();
  const assertion = await idJag(platform, app);
  const first = await present(platform, app, assertion);
  const second = await present(platform, app, assertion);
  t.is(grantOf(second.body.access_token), grantOf(first.body.access_token));
  const [repeated, before] = await platform.auth.audit.list({ types: ['assertion_accepted'] });
  t.like(repeated, { isRepeated: true });
  t.false('isRepeated' in before!);
  // There is one grant of the issuer, the user and the client.
  const third = await present(platform, app, await idJag(platform, app));
  t.is(grantOf(third.body.access_token), grantOf(first.body.access_token));

  const other = await platform.registerApp();
  t.like((await present(platform, other, assertion)).body, REFUSED);
  t.is(await lastReason(platform), 'it is for another client (client_id)');
  const { jti } = decodeJwt(assertion);
  t.like((await present(platform, app, await idJag(platform, app, { jti, more: 1 }))).body, REFUSED);
  t.is(await lastReason(platform), 'it was used before');
  passTime(61);
  t.like((await present(platform, app, assertion)).body, REFUSED);
  t.is(await lastReason(platform), 'it was used before');
});

test('the first answer is lost too: the same grant', async (t) => {
  await using platform = await startTrusted();
  const app = await platform.registerApp();
  const assertion = await idJag(platform, app);
  const answers = await Promise.all(Array.from({ length: 6 }, async () => present(platform, app, assertion)));
  t.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 6 }, () => 200),
  );
  t.is(new Set(answers.map(({ body }) => grantOf(body.access_token))).size, 1);
});

test('with refreshGrace 0, an assertion is used once', async (t) => {
  await using platform = await startTrusted({}, { tokens: { refreshGrace: 0 } });
  const app = await platform.registerApp();
  const assertion = await idJag(platform, app);
  t.is((await present(platform, app, assertion)).status, 200);
  t.is((await present(platform, app, assertion)).status, 400);
});

test('after the end of the user or the client, a repetition is refused, and another assertion begins anew', async (t) => {
  await using platform = await startTrusted();
  const app = await platform.registerApp();
  for (const end of [{ userId: '1' }, { clientId: app.client.id }]) {
    const assertion = await idJag(platform, app);
    const before = await present(platform, app, assertion);
    await platform.auth.revoke(end);
    t.is((await platform.api('/schools', before.body.access_token)).status, 401);
    t.like((await present(platform, app, assertion)).body, REFUSED);
    t.is(await lastReason(platform), 'it was used before');
    const anew = await present(platform, app, await idJag(platform, app));
    t.is(anew.status, 200);
    t.not(grantOf(anew.body.access_token), grantOf(before.body.access_token));
    // From before the end, it gives nothing of what began after it.
    t.like((await present(platform, app, assertion)).body, REFUSED);
  }
});

test('the scopes are those of the request, the assertion, the issuer and the client', async (t) => {
  await using platform = await startTrusted({ idp: { scopes: ['schools:read', 'schools:write'] } });
  const app = await platform.registerApp();
  const narrow = await platform.registerApp({ scopes: ['schools:read'] });
  const scopeOf = async (scope: string | undefined, more = {}, by = app): Promise<string | undefined> => {
    const { body } = await present(platform, by, await idJag(platform, by, { scope }), more);
    return body.error ?? body.scope;
  };
  t.is(await scopeOf('schools:read schools:write other'), 'schools:read schools:write');
  t.is(await scopeOf(undefined), 'schools:read schools:write');
  t.is(await scopeOf('schools:read', { scope: 'schools:read schools:write' }), 'schools:read');
  t.is(await scopeOf('schools:read', { scope: ' schools:read ' }), 'schools:read');
  t.is(await scopeOf('schools:read', { scope: 'schools:write' }), 'invalid_scope');
  t.is(await scopeOf('schools:read schools:write', {}, narrow), 'schools:read');
  t.is(await scopeOf('schools:write', {}, narrow), 'invalid_scope');
  t.is(await scopeOf(''), 'invalid_scope');
  await using strict = await startTrusted();
  const other = await strict.registerApp();
  const beyond = await idJag(strict, other, { scope: 'schools:read schools:write' });
  t.is((await present(strict, other, beyond)).body.scope, 'schools:read');
});

test('a final slash of the audience is accepted only where the entry of the issuer says so', async (t) => {
  for (const finalSlash of [true, false]) {
    await using platform = await startTrusted({ idp: { finalSlash } });
    const app = await platform.registerApp();
    const { issuer } = platform.auth;
    const statusOf = async (aud: unknown): Promise<number> =>
      (await present(platform, app, await idJag(platform, app, { aud }))).status;
    t.is(await statusOf(issuer), 200);
    t.is(await statusOf([issuer]), 200);
    t.is(await statusOf(`${issuer}/`), finalSlash ? 200 : 400);
    t.is(await statusOf([issuer, `${issuer}/`]), 400);
    t.is(await statusOf(`${issuer}//`), 400);
  }
});

test('a token is for the API that the assertion, the request or the scopes name', async (t) => {
  const library = 'https://library.example/';
  const scopes = { books: { description: 'See books', permissions: ['view_schools'] } } as const;
  await using platform = await startTrusted(
    { idp: { scopes: ['books', 'schools:read'] } },
    { resources: { [library]: { name: 'Library', scopes } } },
  );
  const app = await platform.registerApp();
  const answerTo = async (claims: object, more = {}): Promise<unknown> => {
    const { body } = await present(platform, app, await idJag(platform, app, { ...claims }), more);
    return body.error ?? decodeJwt(body.access_token).aud;
  };
  t.is(await answerTo({ scope: 'books', resource: library }), library);
  // As a client writes the URL.
  t.is(await answerTo({ scope: 'books', resource: 'https://library.example' }), library);
  t.is(await answerTo({ scope: 'books', resource: [library] }, { resource: library }), library);
  t.is(await answerTo({ scope: 'books' }, { resource: library }), library);
  t.is(await answerTo({ scope: 'books' }), library);
  t.is(await answerTo({ scope: 'schools:read' }), platform.auth.issuer);
  t.is(
    await answerTo({ scope: 'books', resource: library }, { resource: platform.auth.issuer }),
    'invalid_target',
  );
  t.is(await answerTo({ resource: 'https://other.example' }), 'invalid_target');
  t.is(await answerTo({ scope: 'schools:read', resource: library }), 'invalid_scope');
  const [app1] = (await platform.auth.userGrants.list('1')).clients;
  t.deepEqual(
    [app1!.scopes!.map(({ name }) => name), app1!.resources.map(({ name }) => name)],
    [['schools:read'], ['Library']],
  );
});

test('what is stored of a user is exported and erased, and events say who has asserted it', async (t) => {
  await using platform = await startTrusted();
  const app = await platform.registerApp();
  await present(platform, app, await idJag(platform, app, { act: { sub: 'agent-7' } }));
  const [accepted] = await platform.auth.audit.list({ types: ['assertion_accepted'] });
  t.like(accepted, { userId: '1', clientId: app.client.id, issuer: IDP, subject: 'ann', actor: 'agent-7' });
  const [issued] = await platform.auth.audit.list({ types: ['token_issued'] });
  t.like(issued, { grantType: JWT_BEARER, userId: '1', clientId: app.client.id });
  const exported = await platform.auth.userData.export('1');
  t.deepEqual(
    exported.trustedIssuers!.map(({ access, clientId, issuer, userId }) => ({
      access,
      clientId,
      issuer,
      userId,
    })),
    [{ access: { '': ['schools:read'] }, clientId: app.client.id, issuer: IDP, userId: '1' }],
  );
  platform.users.all.shift();
  await platform.auth.userData.erase('1');
  t.deepEqual((await platform.auth.userData.export('1')).trustedIssuers, []);
  const [erased] = await platform.auth.audit.list({ types: ['assertion_accepted'] });
  t.like(erased, { userId: '(erased)', subject: '', actor: '' });
});

test('a public client and one that acts for itself get none', async (t) => {
  await using platform = await startTrusted();
  const spa = await platform.registerApp({ confidential: false });
  const service = await platform.registerService();
  for (const app of [spa, service]) {
    const { body, status } = await present(platform, app, await idJag(platform, app));
    t.is(`${status} ${body.error}`, '400 unauthorized_client');
  }
  const app = await platform.registerApp();
  const parameters = { ...asClient(app), client_secret: 'wrong' };
  const { body, status } = await present(platform, app, await idJag(platform, app), parameters);
  t.is(`${status} ${body.error}`, '401 invalid_client');
});
