import type {
  AccessToken,
  Client,
  ClientCredentials,
  Configuration,
  FindAccount,
  JWK,
  KoaContextWithOIDC,
  RefreshToken,
} from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import { now } from '../contracts/clock.ts';
import type { Pages, StoredClient, UserStore } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { createAdapterFactory } from './adapter/index.ts';
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-request.ts';
import { createLoadGrant } from './consent.ts';
import { lifetimesFor } from './client-lifetimes.ts';
import { cookiePlace, createCookieKeys } from './cookie-keys.ts';
import { ENDPOINTS } from './endpoints.ts';
import { createPrompts } from './prompts.ts';
import { createRenderError } from './render-error.ts';
import { requestOf } from './engine-request.ts';
import { createResourceServerInfo, createRotation } from './scopes.ts';
import { sessionEnd } from './login-session.ts';
import { createServerClaims, toAccount } from './token-claims.ts';

/** What the configuration is made of besides the options. */
export interface ConfigurationParts {
  readonly clients: ClientDirectory;
  readonly cookieKeys: readonly string[];
  readonly clientPermissions: FindClientPermissions;
  readonly pages: Pages;
  readonly requests: AuthorizationRequests;
  /** Private JWKs, the one that signs first. */
  readonly keys: { readonly signing: readonly JWK[] };
}

/** Translates the options into the engine's configuration. Pure: the same options give the same configuration. */
export function engineConfiguration(
  options: ResolvedOptions,
  { clients, cookieKeys, clientPermissions, keys, pages, requests }: ConfigurationParts,
): Configuration {
  const { issuer, basePath, lifetimes, requirePkce, secure, signingAlgorithm, storage } = options;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure } as const;
  const { path, prefix, suffix } = cookiePlace(options);
  return {
    adapter: createAdapterFactory(storage, clients, options),
    jwks: { keys: [...keys.signing] },
    routes: {
      authorization: ENDPOINTS.authorization,
      token: ENDPOINTS.token,
      revocation: ENDPOINTS.revocation,
      introspection: ENDPOINTS.introspection,
      jwks: ENDPOINTS.jwks,
      end_session: ENDPOINTS.end_session,
    },
    cookies: {
      keys: createCookieKeys(cookieKeys),
      names: {
        session: `${prefix}gatehouse_session${suffix}`,
        // Never sent: requests that wait for a person are in the URL of their page (see authorization-request.ts).
        interaction: 'gatehouse_interaction',
        resume: 'gatehouse_resume',
      },
      long: { ...cookie, path },
      short: cookie,
    },
    scopes: [],
    claims: {},
    responseTypes: ['code'],
    subjectTypes: ['public'],
    allowOmittingSingleRegisteredRedirectUri: false,
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: signingAlgorithm,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      introspection: {
        enabled: true,
        allowedPolicy: createIntrospectionPolicy(options, { clients, clientPermissions }),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        useGrantedResource: () => true,
        getResourceServerInfo: createResourceServerInfo(options, clients),
      },
    },
    interactions: {
      policy: createPrompts(options.currentUser),
      url: async (_ctx, { params, prompt, session }) =>
        `${basePath}${ENDPOINTS.interaction}/${await requests.write({
          prompt: prompt.name as AuthorizationRequest['prompt'],
          reasons: prompt.reasons,
          parameters: params as Record<string, string>,
          ...(prompt.details['limited'] === true ? { limited: true } : {}),
          session: session && { uid: session.uid, userId: session.accountId },
        })}`,
    },
    pkce: { required: (_ctx, client) => requirePkce || client.clientAuthMethod === 'none' },
    ttl: {
      AccessToken: (_ctx, _token, client) => lifetimesFor(client, lifetimes).accessToken,
      ClientCredentials: (_ctx, _token, client) => lifetimesFor(client, lifetimes).accessToken,
      AuthorizationCode: lifetimes.authorizationCode,
      RefreshToken: (ctx, _token, client) => {
        const { refreshToken, refreshTokenAbsolute } = lifetimesFor(client, lifetimes);
        const familyEnd = (requestOf(ctx).credential?.grant.createdAt ?? now()) + refreshTokenAbsolute;
        return Math.max(Math.min(refreshToken, familyEnd - now()), 1);
      },
      Session: (_ctx, session) => Math.max(sessionEnd(session, lifetimes) - now(), 1),
      Interaction: lifetimes.interaction,
      // Neither is issued by the engine here; a value each keeps it from printing a notice about its default.
      Grant: lifetimes.refreshToken,
      IdToken: lifetimes.accessToken,
    },
    issueRefreshToken: (_ctx, client) => Promise.resolve(client.grantTypeAllowed('refresh_token')),
    rotateRefreshToken: createRotation(options, clients),
    expiresWithSession: () => false,
    revokeGrantPolicy: (ctx) => !(ctx.oidc.route === 'revocation' && ctx.oidc.entities.AccessToken),
    extraTokenClaims: createServerClaims(clients),
    findAccount: createFindAccount(options.users),
    loadExistingGrant: createLoadGrant({ clients, consents: storage.consents, requests, resource: issuer }),
    // Decided by answerOtherOrigins (token-response.ts): the engine would refuse the whole request, and tell a known client from an unknown one.
    clientBasedCORS: () => true,
    renderError: createRenderError(pages),
  };
}

/** Lets the engine look people up. A user who is gone has no account: their codes and refresh tokens stop working. */
function createFindAccount(users: UserStore): FindAccount {
  return async (_ctx, sub) => {
    const user = await users.find(sub);
    return user && toAccount(user);
  };
}

type Token = AccessToken | ClientCredentials | RefreshToken;

// An API in another process may ask about the access tokens that it is sent (RFC 7662 section 2): a client that holds
// this permission of the gate.
const PERMISSION = 'introspect_tokens';

/** What a client holds for itself, as of now. */
export type FindClientPermissions = (
  client: StoredClient['client'],
) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;

/** Says who may ask about which token. To others a token is not active, nor is it when its user is gone. */
function createIntrospectionPolicy(
  { users }: Pick<ResolvedOptions, 'users'>,
  { clients, clientPermissions }: { clients: ClientDirectory; clientPermissions: FindClientPermissions },
): (ctx: KoaContextWithOIDC, client: Client, token: Token) => Promise<boolean> {
  async function mayAskAbout(client: Client, token: Token): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    if (token.clientId === client.clientId) return true;
    if (token.kind === 'RefreshToken') return false;
    const stored = await clients.find(client.clientId);
    return stored !== undefined && (await clientPermissions(stored.client)).sources.has(PERMISSION);
  }

  return async (_ctx, client, token) => {
    if (!(await mayAskAbout(client, token))) return false;
    // The guard would refuse the token of a user who is gone.
    return !('accountId' in token) || (await users.find(token.accountId)) !== undefined;
  };
}
