import { errors } from '../engine/oidc-provider.ts';
import type { KoaContextWithOIDC, ResourceServer } from 'oidc-provider';

import type { ResolvedOptions } from '../options/resolved-options.ts';
import { requestOf } from '../engine/request.ts';
import { checkOneResource } from '../engine/resource-parameter.ts';
import { allowedScopes, decideScopes, scopeNames } from './scopes.ts';

type ResourceServerInfo = (ctx: KoaContextWithOIDC, resource: string) => Promise<ResourceServer>;

/**
 * Describes the API that an authorization or a device authorization is requested for, and decides on the requested scopes.
 *
 * The engine drops unknown scopes silently; here they are `invalid_scope` (RFC 6749 section 4.1.2.1). It calls this before it asks
 * for a login.
 */
export function createResourceServerInfo(options: ResolvedOptions): ResourceServerInfo {
  return async (ctx, resource) => {
    checkOneResource(ctx);
    const api = options.resources.get(resource);
    if (!api) throw new errors.InvalidTarget();
    const request = requestOf(ctx);
    const allowed = allowedScopes(request.client!.client, api, options);
    const scopes = decideScopes(requestedScopes(ctx), api, allowed);
    ctx.oidc.params!['scope'] = scopes?.join(' ') || undefined;
    if (scopes?.length === 0) request.isLimitedToNoScope = true;
    return {
      scope: allowed.scopes.join(' '),
      audience: resource,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: options.tokens.algorithm } },
    };
  };
}

/** The scopes that a request names. The engine removes `offline_access` from those of an authorization request; here it is unknown. */
function requestedScopes(ctx: KoaContextWithOIDC): string[] {
  const sent = ctx.oidc.route === 'authorization' ? ctx.query['scope'] : ctx.oidc.params?.['scope'];
  return scopeNames(sent);
}
