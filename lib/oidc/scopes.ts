import { errors } from 'oidc-provider';
import type { Client, KoaContextWithOIDC, ResourceServer } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { Grant } from '../contracts/index.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import { requestOf } from './engine-request.ts';
import type { EngineRequest } from './engine-request.ts';
import { checkGrantedResource, checkOneResource } from './resource-parameter.ts';

type ResourceServerInfo = (
  ctx: KoaContextWithOIDC,
  resource: string,
  client: Client,
) => Promise<ResourceServer>;

/**
 * Describes the API that tokens are issued for, and refuses scopes that the client may not request.
 *
 * The engine drops unknown scopes silently; here they are `invalid_scope` at both endpoints (RFC 6749 sections 4.1.2.1 and
 * 5.2). At the authorization endpoint the engine calls this before it asks for a login.
 */
export function createResourceServerInfo(
  options: ResolvedOptions,
  clients: ClientDirectory,
): ResourceServerInfo {
  return async (ctx, resource, client) => {
    checkOneResource(ctx);
    const api = options.resources.get(resource);
    if (!api) throw new errors.InvalidTarget();
    const {
      defaults,
      isListed,
      knowsScopes,
      scopes: allowed,
    } = await allowedScopes(client.clientId, api, clients, options);
    const { AuthorizationCode: code, DeviceCode: deviceCode, RefreshToken: refreshToken } = ctx.oidc.entities;
    const source = refreshToken ?? code ?? deviceCode;
    if (source) {
      refuseWithoutAllowedScopes(ctx, source, allowed);
    } else {
      const isForAll = removeAllScopes(ctx, api);
      if (!knowsScopes) dropRefusedScopes(ctx, api, allowed);
      refuseUnknownScopes(ctx, allowed);
      if (isForAll && ctx.oidc.route === 'token') ctx.oidc.params!['scope'] = undefined;
      if (isListed) requestDefaultScopes(ctx, defaults);
    }
    return describeResource(options, api, allowed);
  };
}

/** The engine's description of an API: its tokens are JWTs, and may have these scopes. */
export function describeResource(
  { signingAlgorithm }: Pick<ResolvedOptions, 'signingAlgorithm'>,
  { resource }: Pick<ResolvedResource, 'resource'>,
  scopes: readonly string[],
): ResourceServer {
  return {
    scope: scopes.join(' '),
    audience: resource,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: signingAlgorithm } },
  };
}

/**
 * Makes the engine rotate each refresh token. Errors of the resource and the scopes are thrown here, before the engine spends
 * the token; the engine's own checks of them come afterwards, when the token would be lost.
 */
export function createRotation(
  options: ResolvedOptions,
  clients: ClientDirectory,
): (ctx: KoaContextWithOIDC) => Promise<true> {
  return async (ctx) => {
    const { Client: client, Grant: grant, RefreshToken: refreshToken } = ctx.oidc.entities;
    if (client && refreshToken) {
      checkGrantedResource(ctx, refreshToken);
      const api = options.resources.get(refreshToken.resource as string);
      if (!api) throw new errors.InvalidTarget();
      const { isListed, scopes: allowed } = await allowedScopes(client.clientId, api, clients, options);
      refuseWithoutAllowedScopes(ctx, refreshToken, allowed);
      const isWithoutScopes = [...refreshToken.scopes].every((scope) => scope === '');
      // The client was registered with a list of scopes since the grant: the next token is limited to that list.
      if (isListed && isWithoutScopes && !isLimitedToNoScope(requestOf(ctx))) {
        requestDefaultScopes(ctx, allowed);
        if (allowed.length > 0) grant?.addResourceScope(api.resource, allowed.join(' '));
      }
    }
    return true;
  };
}

/** The scopes that the API has and the client may ask for, and those of them that a request without `scope` gets. */
async function allowedScopes(
  clientId: string,
  { scopes: known }: Pick<ResolvedResource, 'scopes'>,
  clients: ClientDirectory,
  { clientIdMetadata }: Pick<ResolvedOptions, 'clientIdMetadata'>,
): Promise<{
  readonly isListed: boolean;
  /** Whether the client could know which scopes are for it: a registration says so. */
  readonly knowsScopes: boolean;
  readonly scopes: readonly string[];
  readonly defaults: readonly string[];
}> {
  const stored = await clients.find(clientId);
  if (!stored) throw new errors.InvalidClient('client not found');
  const { registration, scopes: registered } = stored.client;
  const scopes = [...known.keys()].filter((scope) => registered === undefined || registered.includes(scope));
  const defaults =
    registration === 'metadata_document'
      ? scopes.filter((scope) => clientIdMetadata?.defaultScopes.includes(scope))
      : scopes;
  return {
    isListed: registered !== undefined,
    knowsScopes: registration !== 'metadata_document',
    scopes,
    defaults,
  };
}

/**
 * Removes the scope `*`, which apps of Laravel Passport request for all that they may have, unless the API defines it. As in
 * Passport, it decides for client credentials, whatever other scopes are requested, and is ignored for authorization codes. Both are
 * the same as a request without scopes here.
 */
function removeAllScopes(ctx: KoaContextWithOIDC, { scopes }: Pick<ResolvedResource, 'scopes'>): boolean {
  const requested = ctx.oidc.requestParamScopes;
  if (scopes.has('*') || !requested.delete('*')) return false;
  ctx.oidc.params!['scope'] = requested.size > 0 ? [...requested].join(' ') : undefined;
  return true;
}

/**
 * Removes the scopes that the policy for clients with metadata documents refuses, where others remain (RFC 6749 section 3.3). Such
 * clients request all scopes that the metadata or a challenge names, and cannot know which are for them; the token response says what
 * was granted.
 */
function dropRefusedScopes(
  ctx: KoaContextWithOIDC,
  { scopes: known }: Pick<ResolvedResource, 'scopes'>,
  allowed: readonly string[],
): void {
  const requested = ctx.oidc.requestParamScopes;
  const refused = [...requested].filter((scope) => known.has(scope) && !allowed.includes(scope));
  if (refused.length === 0 || refused.length === requested.size) return;
  for (const scope of refused) requested.delete(scope);
  ctx.oidc.params!['scope'] = [...requested].join(' ');
}

function refuseUnknownScopes(ctx: KoaContextWithOIDC, allowed: readonly string[]): void {
  const refused = [...ctx.oidc.requestParamScopes].filter((scope) => !allowed.includes(scope));
  // The engine has removed `offline_access` by now. A request for that scope alone would become one without scopes, which is
  // not limited to any.
  const { scope } = ctx.query;
  if (ctx.oidc.route === 'authorization' && typeof scope === 'string') {
    refused.push(...scope.split(' ').filter((name) => name === 'offline_access' && !refused.includes(name)));
  }
  if (refused.length > 0) throw new errors.InvalidScope('requested scope is not allowed', refused.join(' '));
}

/**
 * RFC 6749 section 3.3: a request without scopes gets the default, which is the list that the client is registered with. For a client
 * that nobody registered it is what the option for those says.
 */
function requestDefaultScopes(ctx: KoaContextWithOIDC, defaults: readonly string[]): void {
  if (ctx.oidc.requestParamScopes.size > 0) return;
  if (defaults.length > 0) ctx.oidc.params!['scope'] = defaults.join(' ');
  else requestOf(ctx).limitToNoScope();
}

/**
 * A grant may have scopes that were since removed from the server or the client. The engine leaves them out of the next token.
 * When none is left the request is refused, because a token without scopes has all permissions of its user.
 */
function refuseWithoutAllowedScopes(
  ctx: KoaContextWithOIDC,
  source: { readonly scopes: ReadonlySet<string> },
  allowed: readonly string[],
): void {
  const { requestParamScopes: requested } = ctx.oidc;
  const scopes = [...(requested.size > 0 ? requested : source.scopes)].filter(Boolean);
  if (scopes.length > 0 && !scopes.some((scope) => allowed.includes(scope))) {
    throw new errors.InvalidScope('the scopes of this grant are not allowed any more', scopes.join(' '));
  }
}

/*
 * A grant without scopes has all permissions of its user. A grant that a client with an empty list of scopes requested without
 * scopes is limited to no scope instead, and must remain so when the client is registered with scopes later.
 */

// Marks that limit in the grant's list of scopes. No scope contains a space (RFC 6749 section 3.3).
const NO_SCOPE = ' ';

/** The scopes of a grant as they are stored. */
export function toGrantScopes(scopes: readonly string[], isLimitedToNone: boolean): readonly string[] {
  return isLimitedToNone ? [NO_SCOPE] : scopes;
}

/** Whether a grant is limited to no scope. */
export function isGrantLimitedToNoScope({ scopes }: Pick<Grant, 'scopes'>): boolean {
  return scopes.includes(NO_SCOPE);
}

/** Whether the tokens of a request are limited to no scope: by the request itself, or by the grant of what it presents. */
export function isLimitedToNoScope(request: EngineRequest): boolean {
  const { credential } = request;
  return (
    request.isLimitedToNoScope || (credential !== undefined && isGrantLimitedToNoScope(credential.grant))
  );
}
