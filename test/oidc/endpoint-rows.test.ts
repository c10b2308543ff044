import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import type { Feature } from 'koa-gatehouse';
import type { AdapterPayload } from 'oidc-provider';

import { startPlatform } from '../harness/platform.ts';
import { postForm, postJson } from '../harness/requests.ts';

/** A feature with a row of an endpoint of the engine that takes the parameters of an authorization (RFC 9126). */
function pushed(stored: AdapterPayload[]): Feature {
  return {
    name: 'pushed',
    install: () => ({
      engine: {
        models: {
          PushedAuthorizationRequest: {
            async upsert(_request, _id, payload) {
              stored.push(payload);
            },
          },
        },
        configuration: { features: { pushedAuthorizationRequests: { enabled: true } } },
      },
      endpoints: [
        {
          name: 'pushed_authorization_request',
          pattern: /^\/oauth\/par\/?$/i,
          path: '/oauth/par',
          engineRoute: 'pushed_authorization_request',
          callers: 'clients',
          answeredBy: 'engine',
          isLimited: true,
          isLogged: true,
          reads: { from: 'form', kind: 'authorization' },
          readableFrom: 'origins of the client',
          findsUnstoredClients: true,
          success: { level: 'info', outcome: 'answered' },
          refusals: { event: 'pushed_authorization_request.error', record: 'authorization_refused' },
          grantType: undefined,
          endsTokens: false,
        },
      ],
    }),
  };
}

test('a row of a feature takes the parameters of an authorization, in a form', async (t) => {
  const stored: AdapterPayload[] = [];
  await using platform = await startPlatform({ features: [pushed(stored)] });
  const { client } = await platform.registerApp({ confidential: false });
  const [redirectUri] = client.redirectUris;
  const { origin } = new URL(redirectUri!);
  const parameters = {
    client_id: client.id,
    redirect_uri: redirectUri!,
    response_type: 'code',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    scope: ' schools:read  ',
    prompt: 'select_account',
    nonce: 'x',
  };
  const answer = await postForm(platform.url('/oauth/par'), parameters, { origin });
  t.is(answer.status, 201, answer.text);
  t.is(answer.headers.get('access-control-allow-origin'), origin);
  const { nonce, prompt, scope } = decodeJwt(String(stored[0]!['request']));
  t.deepEqual([nonce, prompt, scope], [undefined, 'login', 'schools:read']);

  const refused = await postForm(platform.url('/oauth/par'), { ...parameters, scope: 'unknown' });
  t.like(refused, { status: 400, body: { error: 'invalid_scope' } });
  const [record] = await platform.auth.audit.list({ clientId: client.id, types: ['authorization_refused'] });
  t.like(record, { clientId: client.id, error: 'invalid_scope' });
  const asJson = { ...parameters, max_age: 600, unknown: {} };
  t.is((await postJson(platform.url('/oauth/par'), asJson)).status, 201);
  t.like(await postJson(platform.url('/oauth/par'), { ...parameters, state: {} }), {
    status: 400,
    body: { error: 'invalid_request', error_description: 'The parameter state must be a string.' },
  });
  t.is((await postForm(platform.url('/oauth/par/'), parameters)).status, 201);
  t.is((await fetch(platform.url('/oauth/par'))).status, 405);
});
