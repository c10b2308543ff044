import { errors } from 'oidc-provider';
import type { Client, KoaContextWithOIDC, ResourceServer } from 'oidc-provider';

import type { ResolvedOptions } from '../options.ts';
import type { ClientDirectory } from './client-directory.ts';

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
  { issuer, scopes, signingAlgorithm }: ResolvedOptions,
  clients: ClientDirectory,
): ResourceServerInfo {
  return async (ctx, resource, client) => {
    if (resource !== issuer) throw new errors.InvalidTarget();
    const allowed = (await clients.find(client.clientId))?.client.scopes;
    const known = [...scopes.keys()].filter((scope) => allowed === undefined || allowed.includes(scope));
    // At a refresh the engine has compared the scopes with those of the token, which may be older than the options.
    if (!ctx.oidc.entities.RefreshToken) {
      const refused = [...ctx.oidc.requestParamScopes].filter((scope) => !known.includes(scope));
      if (refused.length > 0)
        throw new errors.InvalidScope('requested scope is not allowed', refused.join(' '));
    }
    return {
      scope: known.join(' '),
      audience: issuer,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingAlgorithm } },
    };
  };
}
