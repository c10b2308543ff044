import type { JWK } from 'jose';
import type {
  AccessToken,
  Client,
  ClientCredentials,
  Configuration,
  FindAccount,
  KoaContextWithOIDC,
  RefreshToken,
} from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { DocumentDirectory } from '../clients/metadata-documents.ts';
import { effectiveLifetimes } from '../clients/lifetimes.ts';
import type { CompleteLifetimes } from '../clients/lifetimes.ts';
import { now } from '../contracts/clock.ts';
import type { Pages, StoredClient, UserStore } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { DeviceCodeParts } from './adapter/device-codes.ts';
import { createAdapterFactory } from './adapter/index.ts';
import { consentQuestion } from './asked-scopes.ts';
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-request.ts';
import { createLoadGrant } from './consent.ts';
import { ASSERTION_CONFIGURATION } from './client-assertion.ts';
import { cookieScope, createCookieKeys } from './cookie-keys.ts';
import { ENDPOINTS } from './endpoints.ts';
import { createPrompts } from './prompts.ts';
import { createRenderError } from './render-error.ts';
import { requestOf } from './engine-request.ts';
import { checkGrantedResource } from './resource-parameter.ts';
import { createResourceServerInfo, createRotation } from './scopes.ts';
import { sessionEnd } from './login-session.ts';
import { SigningKey } from './signing-key.ts';
import { createServerClaims, toAccount } from './token-claims.ts';

/** The parts of the server that the configuration needs besides the options. */
export interface ConfigurationParts {
  readonly clients: DocumentDirectory;
  readonly cookieKeys: readonly string[];
  readonly clientPermissions: FindClientPermissions;
  readonly devices: DeviceCodeParts;
  readonly pages: Pages;
  readonly requests: AuthorizationRequests;
  /** Private JWKs. The first signs. */
  readonly keys: { readonly signing: readonly JWK[] };
}

/** Translates the options into the engine's configuration. */
export function engineConfiguration(
  options: ResolvedOptions,
  { clients, cookieKeys, clientPermissions, devices, keys, pages, requests }: ConfigurationParts,
): Configuration {
  const {
    deviceAuthorization,
    issuer,
    basePath,
    lifetimes,
    requirePkce,
    resources,
    secure,
    signingAlgorithm,
    storage,
  } = options;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure } as const;
  const { path, prefix, suffix } = cookieScope(options);
  const lifetimesOf = (resource: unknown): CompleteLifetimes =>
    resources.get(resource as string)?.lifetimes ?? lifetimes;
  return {
    adapter: createAdapterFactory(storage, clients, options, devices),
    jwks: { keys: keys.signing.map((jwk) => new SigningKey(jwk)) },
    routes: {
      authorization: ENDPOINTS.authorization,
      token: ENDPOINTS.token,
      revocation: ENDPOINTS.revocation,
      introspection: ENDPOINTS.introspection,
      jwks: ENDPOINTS.jwks,
      end_session: ENDPOINTS.end_session,
      device_authorization: ENDPOINTS.device_authorization,
      // Its page is not the engine's (see middleware.ts); this is the URL of `verification_uri`.
      code_verification: ENDPOINTS.device,
    },
    cookies: {
      keys: createCookieKeys(cookieKeys),
      names: {
        session: `${prefix}gatehouse_session${suffix}`,
        // These two are never sent: a request that waits for the user is in the URL of its page (see authorization-request.ts).
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
    clientAuthMethods: [
      'client_secret_basic',
      'client_secret_post',
      'none',
      ...(options.privateKeyJwt ? (['private_key_jwt'] as const) : []),
    ],
    ...(options.privateKeyJwt ? ASSERTION_CONFIGURATION : {}),
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: signingAlgorithm,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: deviceAuthorization !== undefined, charset: 'base-20', mask: '****-****' },
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
      url: async (ctx, { params, prompt, session }) =>
        `${basePath}${ENDPOINTS.interaction}/${await requests.write({
          prompt: prompt.name as AuthorizationRequest['prompt'],
          reasons: prompt.reasons,
          parameters: params as Record<string, string>,
          ...(prompt.name === 'consent' ? consentQuestion(ctx, options) : {}),
          session: session && { uid: session.uid, userId: session.accountId },
        })}`,
    },
    pkce: { required: (_ctx, client) => requirePkce || client.clientAuthMethod === 'none' },
    ttl: {
      AccessToken: (ctx, token, client) => clientLifetimes(ctx, client, lifetimesOf(token.aud)).accessToken,
      ClientCredentials: (ctx, token, client) =>
        clientLifetimes(ctx, client, lifetimesOf(token.aud)).accessToken,
      AuthorizationCode: lifetimes.authorizationCode,
      ...(deviceAuthorization && { DeviceCode: deviceAuthorization.lifetime }),
      RefreshToken: (ctx, token, client) => {
        const { refreshToken, refreshTokenAbsolute } = clientLifetimes(
          ctx,
          client,
          lifetimesOf(token.resource),
        );
        const familyEnd = (requestOf(ctx).credential?.grant.createdAt ?? now()) + refreshTokenAbsolute;
        return Math.max(Math.min(refreshToken, familyEnd - now()), 1);
      },
      Session: (_ctx, session) => Math.max(sessionEnd(session, lifetimes) - now(), 1),
      Interaction: lifetimes.interaction,
      // The engine stores neither of them here; it prints a notice about each lifetime that is left out.
      Grant: lifetimes.refreshToken,
      IdToken: lifetimes.accessToken,
    },
    issueRefreshToken: (_ctx, client) => Promise.resolve(client.grantTypeAllowed('refresh_token')),
    rotateRefreshToken: createRotation(options, clients),
    expiresWithSession: () => false,
    revokeGrantPolicy: (ctx) => !(ctx.oidc.route === 'revocation' && ctx.oidc.entities.AccessToken),
    extraTokenClaims: createServerClaims(clients),
    findAccount: createFindAccount(options.users),
    loadExistingGrant: createLoadGrant({ clients, consents: storage.consents, issuer, requests }),
    // `handleCors` in token-response.ts decides instead: the engine would refuse the whole request, and its answer would reveal
    // which clients exist.
    clientBasedCORS: () => true,
    renderError: createRenderError(pages),
  };
}

/**
 * The lifetimes of what the client of a request gets. They come from the row that the request has read: the engine's client object
 * does not have them, and may be older than the row.
 */
function clientLifetimes(ctx: object, { clientId }: Client, server: CompleteLifetimes): CompleteLifetimes {
  const stored = requestOf(ctx).client;
  if (stored?.client.id !== clientId) throw new Error(`The request has not read the client ${clientId}`);
  return effectiveLifetimes(stored.client, server);
}

/** Finds the engine's account of a user. A deleted user has none, which makes their codes and refresh tokens invalid. */
function createFindAccount(users: UserStore): FindAccount {
  return async (ctx, sub, token) => {
    // Here, because the engine has no more specific hook before it resolves the resource of these two. That of a refresh token is
    // checked in `createRotation`.
    if (token?.kind === 'AuthorizationCode' || token?.kind === 'DeviceCode') checkGrantedResource(ctx, token);
    const user = await users.find(sub);
    return user && toAccount(user);
  };
}

type Token = AccessToken | ClientCredentials | RefreshToken;

// A client with this permission of the gate, such as an API in another process, may introspect the access tokens of all clients
// (RFC 7662 section 2).
const INTROSPECT_PERMISSION = 'introspect_tokens';

/** Finds the permissions that a client has for itself at this moment. */
export type FindClientPermissions = (
  client: StoredClient['client'],
) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;

/**
 * Decides which client may introspect which token. Otherwise, and when the token's user was deleted, the answer is inactive.
 */
function createIntrospectionPolicy(
  { users }: Pick<ResolvedOptions, 'users'>,
  { clients, clientPermissions }: { clients: ClientDirectory; clientPermissions: FindClientPermissions },
): (ctx: KoaContextWithOIDC, client: Client, token: Token) => Promise<boolean> {
  async function mayIntrospect(client: Client, token: Token): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    if (token.clientId === client.clientId) return true;
    if (token.kind === 'RefreshToken') return false;
    const stored = await clients.find(client.clientId);
    return (
      stored !== undefined && (await clientPermissions(stored.client)).sources.has(INTROSPECT_PERMISSION)
    );
  }

  return async (_ctx, client, token) => {
    if (!(await mayIntrospect(client, token))) return false;
    // The guard refuses the token of a deleted user too.
    return !('accountId' in token) || (await users.find(token.accountId)) !== undefined;
  };
}
