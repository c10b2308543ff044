// The scenarios that modelcontextprotocol/conformance#490 proposes for the authorization server of Enterprise-Managed Authorization: the test
// plays the client and the identity provider, sends its secret in the body, and introspects the token.
import test from '../harness/test.ts';

import { makeKeyPair } from '../harness/client-keys.ts';
import { people } from '../harness/platform.ts';
import { json, ON_LOOPBACK, servePublic } from '../harness/public-server.ts';
import { postForm, send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { asClient } from '../harness/tokens.ts';
import { idJag, issuerKeys, JWT_BEARER, startTrusted } from './identity-provider.ts';

const MCP_SERVER = 'https://mcp.example/';

const started = shared(async (stack) => {
  const { publicJwk } = await issuerKeys();
  const provider = stack.use(
    await servePublic((request, response) => {
      const document = new URL(request.url!, provider.origin).pathname.startsWith('/.well-known/')
        ? { issuer: provider.origin, jwks_uri: `${provider.origin}/jwks` }
        : { keys: [publicJwk] };
      json(document)(request, response);
    }),
  );
  const users = people();
  const platform = stack.use(
    await startTrusted(
      {
        more: {
          [provider.origin]: {
            profile: 'id-jag',
            scopes: ['mcp.read'],
            // What the provider calls `user-123` is the user 1 here.
            findUser: ({ sub }) => (sub === 'user-123' ? users.all[0] : undefined),
          },
        },
      },
      {
        resources: {
          [MCP_SERVER]: { scopes: { 'mcp.read': { description: 'Read', permissions: ['view_schools'] } } },
        },
      },
      ON_LOOPBACK,
    ),
  );
  const app = await platform.registerApp();
  const { body: metadata } = await send(`${platform.auth.issuer}/.well-known/oauth-authorization-server`);
  return { app, metadata: metadata!, platform, provider };
});

/** Presents an ID-JAG with these claims, as the runner does. */
async function grant(
  ...[claims = {}, signed = {}]: Parameters<typeof idJag> extends [unknown, unknown, ...infer More]
    ? More
    : never
) {
  const { app, metadata, platform, provider } = await started();
  const assertion = await idJag(
    platform,
    app,
    { iss: provider.origin, sub: 'user-123', resource: MCP_SERVER, scope: 'mcp.read', ...claims },
    signed,
  );
  return postForm(String(metadata['token_endpoint']), {
    grant_type: JWT_BEARER,
    ...asClient(app),
    assertion,
  });
}

test('a valid ID-JAG gets a token for the server that it names, of the user and with the scope that it names', async (t) => {
  const { app, metadata, platform } = await started();
  t.true((metadata['grant_types_supported'] as string[]).includes(JWT_BEARER));
  t.deepEqual(metadata['authorization_grant_profiles_supported'], [
    'urn:ietf:params:oauth:grant-profile:id-jag',
  ]);
  const { body, headers, status } = await grant();
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  t.like(body, { token_type: 'Bearer', scope: 'mcp.read' });
  t.is(body!['refresh_token'], undefined);
  const introspected = await postForm(String(metadata['introspection_endpoint']), {
    ...asClient(app),
    token: String(body!['access_token']),
  });
  t.like(introspected.body, {
    active: true,
    aud: MCP_SERVER,
    client_id: app.client.id,
    iss: platform.auth.issuer,
    scope: 'mcp.read',
    sub: '1',
  });
});

for (const [name, claims, error, signed] of [
  ['of an identity provider that is not trusted', { iss: 'https://attacker.example' }, 'invalid_grant'],
  ['that another key has signed', {}, 'invalid_grant', async () => ({ pair: await makeKeyPair('issuer-1') })],
  ['for another authorization server', { aud: 'https://other.example' }, 'invalid_grant'],
  [
    'for an MCP server that is not of this server',
    { resource: 'https://attacker.example/' },
    'invalid_target',
  ],
  ['of another client', { client_id: 'other' }, 'invalid_grant'],
  ['that has expired', { exp: 1_700_000_000, iat: 1_699_999_700 }, 'invalid_grant'],
  ['of another type', {}, 'invalid_grant', async () => ({ header: { typ: 'JWT' } })],
] as const)
  test(`an ID-JAG ${name} is refused`, async (t) => {
    const { body, status } = await grant(claims, await signed?.());
    t.is(status, 400);
    t.is(body!['error'], error);
    t.is(body!['access_token'], undefined);
  });
