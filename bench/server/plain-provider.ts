import { generateKeyPairSync } from 'node:crypto';

import { Provider } from 'oidc-provider';
import type { AdapterConstructor, AdapterFactory } from 'oidc-provider';

import { REDIRECT_URI, SCOPE } from '../protocol.ts';
import { FIXED_CLIENTS } from './serve-contestant.ts';
import type { Served } from './serve-contestant.ts';

const YEAR = 31_536_000;

/** oidc-provider alone, with the same access tokens and rotating refresh tokens. */
export function plainProvider(origin: string, adapter: AdapterConstructor | AdapterFactory): Served {
  const { service, app } = FIXED_CLIENTS;
  const provider = new Provider(origin, {
    adapter,
    clients: [
      {
        client_id: service.id,
        client_secret: service.secret,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_post',
      },
      {
        client_id: app.id,
        client_secret: app.secret,
        redirect_uris: [REDIRECT_URI],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [signingKey()] },
    cookies: { keys: ['a key of cookies that is long enough'] },
    routes: { authorization: '/oauth/authorize', token: '/oauth/token' },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: (_ctx, client) => Promise.resolve(client.grantTypeAllowed('refresh_token')),
    rotateRefreshToken: () => true,
    expiresWithSession: () => false,
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => origin,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          audience: origin,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    ttl: {
      AccessToken: YEAR,
      ClientCredentials: YEAR,
      RefreshToken: YEAR,
      AuthorizationCode: 60,
      Grant: YEAR,
      Session: 14 * 86_400,
      Interaction: 3600,
      IdToken: 3600,
    },
  });
  provider.silent = true;
  const handle = provider.callback();
  return { listener: (request, response) => void handle(request, response), registered: FIXED_CLIENTS };
}

function signingKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'bench' };
}
