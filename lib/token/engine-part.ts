import type {
  AccessToken,
  Client,
  ClientCredentials,
  Configuration,
  KoaContextWithOIDC,
  RefreshToken,
  ResourceServer,
} from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { StoredClient, UserStore } from '../contracts/index.ts';
import { errors } from '../engine/oidc-provider.ts';
import type { EnginePart } from '../engine/part.ts';
import { engineRequestOf } from '../engine/request.ts';
import { checkOneResource } from '../engine/resource-parameter.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { authorizationCodeGrant } from './authorization-code-grant.ts';
import { clientCredentialsGrant } from './client-credentials-grant.ts';
import type { GrantParts } from './exchange.ts';
import { accessTokenAdapter, codeAdapter, grantAdapter, refreshTokenAdapter } from './models.ts';
import { refreshTokenGrant } from './refresh-token-grant.ts';
import {
  allowedScopes,
  decideScopes,
  defaultResource,
  isIdentityScope,
  requestedScopes,
  toScope,
} from './scopes.ts';
import type { EndUnusedGrants } from './unused-grants.ts';
import type { IsTokenActive } from './verify-access-token.ts';

/** What the token endpoint needs besides the options. */
export interface TokenParts extends GrantParts {
  readonly clients: ClientDirectory;
  readonly endUnusedGrants: EndUnusedGrants;
  readonly isActiveFor: () => IsTokenActive;
  /** Finds the permissions that a client has for itself at this moment. */
  readonly clientPermissions: (
    client: StoredClient['client'],
  ) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;
}

/**
 * What the engine needs for tokens: the grants, which take the place of the engine's own, and the models with which it revokes and
 * introspects.
 */
export function tokenPart(parts: TokenParts): EnginePart {
  const { clients, options } = parts;
  const { issuer, storage } = options;
  const { lifetimes } = options.tokens;
  const ofGrants = { ...parts, isActive: parts.isActiveFor() };
  return {
    models: {
      Grant: grantAdapter(storage.grants, issuer),
      AuthorizationCode: codeAdapter(storage.grants, parts.endUnusedGrants, options),
      RefreshToken: refreshTokenAdapter(ofGrants),
      AccessToken: accessTokenAdapter('user', ofGrants),
      ClientCredentials: accessTokenAdapter('client', ofGrants),
    },
    grants: [authorizationCodeGrant(ofGrants), refreshTokenGrant(ofGrants), clientCredentialsGrant(ofGrants)],
    configuration: {
      features: {
        clientCredentials: { enabled: true },
        revocation: {
          enabled: true,
          allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
        },
        introspection: { enabled: true, allowedPolicy: createIntrospectionPolicy(parts, options.users) },
        resourceIndicators: {
          enabled: true,
          defaultResource: (ctx) =>
            defaultResource(
              engineRequestOf(ctx).client!.client,
              requestedScopes(sentScope(ctx)).scopes,
              options,
            ),
          getResourceServerInfo: createResourceServerInfo(options),
        },
      },
      ttl: {
        // Of a grant type of the host. The grants of this server have the lifetimes of the client and the API.
        AccessToken: lifetimes.accessToken,
        ClientCredentials: lifetimes.accessToken,
        AuthorizationCode: lifetimes.authorizationCode,
        // The engine stores none here; it prints a notice about each lifetime that is left out.
        Grant: lifetimes.refreshToken,
      },
      revokeGrantPolicy: (ctx) =>
        !(engineRequestOf(ctx).endpoint.endsTokens && ctx.oidc.entities.AccessToken),
      extraTokenClaims: createHostTokenClaims(clients),
    },
  };
}

/** The claims without which the guard refuses a token, for those that a grant type of the host makes with the engine. */
function createHostTokenClaims(
  clients: Pick<ClientDirectory, 'find'>,
): NonNullable<Configuration['extraTokenClaims']> {
  return async (_ctx, token) => {
    if ('grantId' in token && token.grantId) return { principal: 'user', grant_id: token.grantId };
    const sequence = (await clients.find(token.clientId!))?.sequence ?? 0;
    return { principal: 'client', ...(sequence > 0 && { revocation_sequence: sequence }) };
  };
}

/**
 * Describes the API that an authorization or a device authorization is requested for, and decides on the requested scopes.
 *
 * The engine drops unknown scopes silently; here they are `invalid_scope` (RFC 6749 section 4.1.2.1). It calls this before it asks
 * for a login.
 */
function createResourceServerInfo(
  options: ResolvedOptions,
): (ctx: KoaContextWithOIDC, resource: string) => Promise<ResourceServer> {
  return async (ctx, resource) => {
    checkOneResource(ctx);
    const api = options.resources.get(resource);
    if (!api) throw new errors.InvalidTarget();
    const request = engineRequestOf(ctx);
    const allowed = allowedScopes(request.client!.client, api, options);
    const { hasOfflineAccess, scopes: requested } = requestedScopes(sentScope(ctx));
    const scopes = decideScopes(requested, api, allowed, options);
    if (resource !== options.issuer) requireScopeOf(resource, scopes, options);
    ctx.oidc.params!['scope'] = toScope(scopes ?? []);
    if (scopes?.length === 0) request.isLimitedToNoScope = true;
    request.hasOfflineAccess = hasOfflineAccess;
    return {
      scope: [...allowed.scopes, ...allowed.identity].join(' '),
      audience: resource,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: options.tokens.algorithm } },
    };
  };
}

/**
 * A token for a resource that the client has named would not be for it when all of the scopes are about the user.
 *
 * @throws InvalidScope of the engine
 */
function requireScopeOf(
  resource: string,
  scopes: readonly string[] | undefined,
  { aboutUser }: Pick<ResolvedOptions, 'aboutUser'>,
): void {
  if (!scopes?.length || !scopes.every((name) => isIdentityScope(name, aboutUser))) return;
  throw new errors.InvalidScope(
    `name a scope of the resource ${resource} too, or leave the parameter resource out`,
    scopes.join(' '),
  );
}

/** The parameter `scope` as it was sent: the engine removes `offline_access` from that of an authorization request. */
function sentScope(ctx: KoaContextWithOIDC): unknown {
  const { parameters = ctx.oidc.params } = engineRequestOf(ctx);
  return parameters?.['scope'];
}

type Token = AccessToken | ClientCredentials | RefreshToken;

// A client with this permission of the gate, such as an API in another process, may introspect the access tokens of all clients
// (RFC 7662 section 2).
const INTROSPECT_PERMISSION = 'introspect_tokens';

/**
 * Decides which client may introspect which token; otherwise the answer is inactive. Adds what the host calls the user to a token that it
 * may.
 */
function createIntrospectionPolicy(
  { clients, clientPermissions }: TokenParts,
  users: UserStore,
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
    if (!users.username) return true;
    const { accountId, extra } = token as { accountId?: string; extra?: Readonly<Record<string, unknown>> };
    // A personal access token has no account of the engine, and a token of a client for itself has no user.
    const id = accountId ?? extra?.['sub'];
    const user = typeof id === 'string' ? await users.find(id) : undefined;
    const username = user && users.username(user);
    if (username !== undefined) Object.assign(token, { extra: { ...extra, username } });
    return true;
  };
}
