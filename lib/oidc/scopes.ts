import { errors } from 'oidc-provider';
import type { Client, KoaContextWithOIDC, ResourceServer } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { Grant } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { requestOf } from './engine-request.ts';
import type { EngineRequest } from './engine-request.ts';

type ResourceServerInfo = (
  ctx: KoaContextWithOIDC,
  resource: string,
  client: Client,
) => Promise<ResourceServer>;

/**
 * Describes the one API that tokens are for, and refuses scopes that the client may not have.
 *
 * The engine drops unknown scopes without a word; here they are `invalid_scope` at both endpoints (RFC 6749 sections
 * 4.1.2.1 and 5.2). It asks at the authorization endpoint before anybody has to log in.
 */
export function createResourceServerInfo(
  options: ResolvedOptions,
  clients: ClientDirectory,
): ResourceServerInfo {
  return async (ctx, resource, client) => {
    if (resource !== options.issuer) throw new errors.InvalidTarget();
    const { isListed, scopes: allowed } = await allowedScopes(client.clientId, options, clients);
    const { AuthorizationCode: code, RefreshToken: refreshToken } = ctx.oidc.entities;
    const source = refreshToken ?? code;
    if (source) {
      refuseWithoutScope(ctx, source, allowed);
    } else {
      refuseUnknown(ctx, allowed);
      if (isListed) askForAll(ctx, allowed);
    }
    return describeResource(options, allowed);
  };
}

/** The API as the engine asks for it, with the scopes that a token for it may have: its tokens are JWTs of this server's. */
export function describeResource(
  { issuer, signingAlgorithm }: Pick<ResolvedOptions, 'issuer' | 'signingAlgorithm'>,
  scopes: readonly string[],
): ResourceServer {
  return {
    scope: scopes.join(' '),
    audience: issuer,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: signingAlgorithm } },
  };
}

/**
 * Lets every refresh token be rotated, unless nothing could be issued for it: the engine asks this before it spends the
 * token, and finds those mistakes only afterwards.
 */
export function createRotation(
  options: ResolvedOptions,
  clients: ClientDirectory,
): (ctx: KoaContextWithOIDC) => Promise<true> {
  return async (ctx) => {
    const { Client: client, Grant: grant, RefreshToken: refreshToken } = ctx.oidc.entities;
    if (client && refreshToken) {
      const resource = ctx.oidc.params?.['resource'];
      if (typeof resource === 'string' && resource !== options.issuer) throw new errors.InvalidTarget();
      const { isListed, scopes: allowed } = await allowedScopes(client.clientId, options, clients);
      refuseWithoutScope(ctx, refreshToken, allowed);
      const isWithoutScopes = [...refreshToken.scopes].every((scope) => scope === '');
      // The client has been given a list since: the next token says what is left.
      if (isListed && isWithoutScopes && !isLimited(requestOf(ctx))) {
        askForAll(ctx, allowed);
        if (allowed.length > 0) grant?.addResourceScope(options.issuer, allowed.join(' '));
      }
    }
    return true;
  };
}

/** The scopes that the server knows and the client may ask for. */
async function allowedScopes(
  clientId: string,
  { scopes }: ResolvedOptions,
  clients: ClientDirectory,
): Promise<{ readonly isListed: boolean; readonly scopes: readonly string[] }> {
  const own = (await clients.find(clientId))?.client.scopes;
  return {
    isListed: own !== undefined,
    scopes: [...scopes.keys()].filter((scope) => own === undefined || own.includes(scope)),
  };
}

function refuseUnknown(ctx: KoaContextWithOIDC, allowed: readonly string[]): void {
  const refused = [...ctx.oidc.requestParamScopes].filter((scope) => !allowed.includes(scope));
  // The engine has taken this one out by now, and a request without scopes would be left, which may ask for everything.
  const { scope } = ctx.query;
  if (ctx.oidc.route === 'authorization' && typeof scope === 'string') {
    refused.push(...scope.split(' ').filter((name) => name === 'offline_access' && !refused.includes(name)));
  }
  if (refused.length > 0) throw new errors.InvalidScope('requested scope is not allowed', refused.join(' '));
}

/** RFC 6749 section 3.3: who names no scope asks for those that the client is registered with, and never for more. */
function askForAll(ctx: KoaContextWithOIDC, allowed: readonly string[]): void {
  if (ctx.oidc.requestParamScopes.size > 0) return;
  if (allowed.length > 0) ctx.oidc.params!['scope'] = allowed.join(' ');
  else requestOf(ctx).askForNothing();
}

/**
 * A grant may have scopes that the server or the client has lost since. The engine leaves those out of the next token;
 * when that would leave none, there must be no token, because one without a scope may do all that its user may.
 */
function refuseWithoutScope(
  ctx: KoaContextWithOIDC,
  source: { readonly scopes: ReadonlySet<string> },
  allowed: readonly string[],
): void {
  const { requestParamScopes: requested } = ctx.oidc;
  const wanted = [...(requested.size > 0 ? requested : source.scopes)].filter(Boolean);
  if (wanted.length > 0 && !wanted.some((scope) => allowed.includes(scope))) {
    throw new errors.InvalidScope('the scopes of this grant are not allowed any more', wanted.join(' '));
  }
}

/*
 * A grant without scopes stands for all that its user may do. One that was asked for without scopes by a client that is
 * registered for none, may do nothing, and has to stay so when the client is registered for some later.
 */

// Stands among the scopes of a grant. No scope has a space in its name (RFC 6749 section 3.3).
const NOTHING = ' ';

/** What is kept of the scopes of a grant. */
export function toGrantScopes(scopes: readonly string[], isNothing: boolean): readonly string[] {
  return isNothing ? [NOTHING] : scopes;
}

/** Whether a grant was limited to no scope at all. */
export function isGrantLimited({ scopes }: Pick<Grant, 'scopes'>): boolean {
  return scopes.includes(NOTHING);
}

/** Whether what comes of a request may do nothing. */
export function isLimited({ asksForNothing, credential }: EngineRequest): boolean {
  return asksForNothing || (credential !== undefined && isGrantLimited(credential.grant));
}
