// Agents that are older than the parameter `resource` (RFC 8707) ask for a token without it.
import test from '../harness/test.ts';
import { agents } from 'koa-gatehouse';
import { decodeJwt } from 'jose';

import { CALLBACK, documentOptions, serveDocument } from './documents.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { authorize, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { PUBLIC, registered } from './apps.ts';

const DOCUMENTS = 'https://documents.example/v1';
const ARCHIVE = 'https://archive.example';

const SCOPE = { description: 'See your schools', permissions: ['view_schools'] } as const;
const SCOPES = ['schools:read', 'documents:read', 'archive:read', 'read'];

const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform(
      {
        ...documentOptions(),
        scopes: { 'schools:read': SCOPE },
        resources: {
          [DOCUMENTS]: { scopes: { 'documents:read': SCOPE, read: SCOPE } },
          [ARCHIVE]: { scopes: { 'archive:read': SCOPE, read: SCOPE, 'schools:read': SCOPE } },
        },
        features: [
          agents({
            registration: { scopes: SCOPES, perAddress: 1000 },
            documents: { allow: () => true, scopes: SCOPES, defaultScopes: SCOPES },
          }),
        ],
      },
      ON_LOOPBACK,
    ),
  );
  return { platform };
});

/** The API of the token that a client gets without `resource`, and of the one that it is refreshed for. */
async function audienceOf(
  { origin, token }: Pick<Platform, 'origin' | 'token'>,
  clientId: string,
  scope: string,
): Promise<string> {
  const { platform } = await started();
  const { parameters, verifier } = pkce();
  const app = { client: { id: clientId }, redirectUri: CALLBACK };
  const code = (await authorize(platform, app, { parameters: { ...parameters, scope } })).get('code');
  const fields = { client_id: clientId, redirect_uri: CALLBACK, code, code_verifier: verifier };
  const first = await token({ grant_type: 'authorization_code', ...fields });
  const refreshed = { client_id: clientId, refresh_token: first.body.refresh_token };
  const next = await token({ grant_type: 'refresh_token', ...refreshed });
  const [aud, later] = [first, next].map(({ body }) => decodeJwt(body.access_token).aud);
  if (aud !== later) throw new Error(`${String(aud)} became ${String(later)}`);
  return aud === origin ? 'the issuer' : String(aud);
}

// The requested scopes, with the API that has all of them.
const REQUESTS: readonly [scope: string, audience: string][] = [
  ['documents:read', DOCUMENTS],
  ['documents:read read offline_access', DOCUMENTS],
  ['archive:read schools:read', ARCHIVE],
  // Several APIs have all of them.
  ['schools:read', 'the issuer'],
];

test('a client that registered itself gets a token for the one API that has its scopes', async (t) => {
  const { platform } = await started();
  const { client_id: id } = await registered(platform, { ...PUBLIC, scope: SCOPES.join(' ') });
  for (const [scope, audience] of REQUESTS) t.is(await audienceOf(platform, id, scope), audience, scope);
});

test('one that requests no scope gets it by the scopes that it is registered for', async (t) => {
  const { platform } = await started();
  for (const [scope, audience] of REQUESTS) {
    const { client_id: id } = await registered(platform, { ...PUBLIC, scope });
    t.is(await audienceOf(platform, id, ''), audience, scope);
  }
});

test('a client of a metadata document gets a token for the one API that has its scopes', async (t) => {
  const { platform } = await started();
  const { id } = await serveDocument(t);
  for (const [scope, audience] of REQUESTS) t.is(await audienceOf(platform, id, scope), audience, scope);
});

test('a client that a person registered gets a token for the one API that has its scopes', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ redirectUris: [CALLBACK], confidential: false });
  for (const [scope, audience] of REQUESTS)
    t.is(await audienceOf(platform, app.client.id, scope), audience, scope);
  for (const [scope, audience] of REQUESTS) {
    const scopes = scope.split(' ').filter((name) => name !== 'offline_access');
    const listed = await platform.registerApp({ redirectUris: [CALLBACK], confidential: false, scopes });
    t.is(await audienceOf(platform, listed.client.id, ''), audience, scope);
  }
});

test('a client that acts for itself gets a token for the one API that has its scopes', async (t) => {
  const { platform } = await started();
  const service = await platform.registerService(['view_schools']);
  for (const [scope, audience] of [
    ['documents:read', DOCUMENTS],
    ['archive:read schools:read', ARCHIVE],
    ['schools:read', platform.origin],
    ['', platform.origin],
  ] as const) {
    const { body } = await requestClientToken(platform, service, { scope });
    t.is(decodeJwt(body.access_token).aud, audience, scope);
  }
  const { body } = await requestClientToken(platform, service, { scope: 'documents:read archive:read' });
  t.is(body.error, 'invalid_scope');
});
