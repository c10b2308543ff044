import type { Configuration } from 'oidc-provider';

import type { Pages } from '../contracts/index.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { ASSERTION_CONFIGURATION } from './client-assertion.ts';
import { cookieScope, createCookieKeys, sessionCookie } from './cookie-keys.ts';
import { PATHS } from './endpoints.ts';
import type { EnginePart } from './part.ts';
import { createRenderError } from './render-error.ts';

/** The engine's settings that are no module's, without the adapter and the keys. */
export function engineConfiguration(
  options: ResolvedOptions,
  { pages, secrets }: { readonly pages: Pages; readonly secrets: Secrets },
): Configuration {
  const { clients, secure, tokens } = options;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure } as const;
  const { path } = cookieScope(options);
  return {
    routes: { jwks: PATHS.jwks, end_session: PATHS.end_session },
    cookies: {
      keys: createCookieKeys(secrets),
      names: {
        session: sessionCookie(options),
        // These two are never sent, and so not signed: a request that waits for the user is in the URL of its page.
        interaction: 'gatehouse_interaction',
        resume: 'gatehouse_resume',
      },
      long: { ...cookie, path },
      short: { ...cookie, signed: false },
    },
    scopes: [],
    claims: {},
    responseTypes: ['code'],
    subjectTypes: ['public'],
    allowOmittingSingleRegisteredRedirectUri: false,
    clientAuthMethods: [
      'client_secret_basic',
      'client_secret_post',
      'none',
      ...(clients.privateKeyJwt ? (['private_key_jwt'] as const) : []),
    ],
    ...(clients.privateKeyJwt ? ASSERTION_CONFIGURATION : {}),
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: options.aboutUser?.key.algorithm ?? tokens.algorithm,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      pushedAuthorizationRequests: { enabled: false },
      // Of a feature.
      userinfo: { enabled: false },
      claimsParameter: { enabled: false },
      rpInitiatedLogout: { enabled: false },
    },
    ttl: {
      // The engine issues none; it prints a notice about each lifetime that is left out.
      IdToken: tokens.lifetimes.accessToken,
    },
    pkce: { required: (_ctx, client) => clients.requirePkce || client.clientAuthMethod === 'none' },
    // `withCors` in corrections.ts decides instead: the engine would refuse the whole request, and its answer would reveal which
    // clients exist.
    clientBasedCORS: () => true,
    renderError: createRenderError(pages),
  };
}

/** Joins the settings of the engine with those that the modules add. */
export function joinConfigurations(own: Configuration, parts: readonly EnginePart[]): Configuration {
  const all = [own, ...parts.flatMap(({ configuration }) => configuration ?? [])];
  return Object.assign({}, ...all, {
    features: Object.assign({}, ...all.map(({ features }) => features)),
    routes: Object.assign({}, ...all.map(({ routes }) => routes)),
    ttl: Object.assign({}, ...all.map(({ ttl }) => ttl)),
  }) as Configuration;
}
