import type { errors, KoaContextWithOIDC } from 'oidc-provider';

import { stateOf } from './request-state.ts';

/*
 * What may be told of a request to people who read logs and records. Parameters hold secrets, codes and tokens, and what
 * strangers put into the wrong field: none is passed on, unless it is found to be something that this server knows.
 */

/** The client that the request names, if there is one, also one that is disabled. */
export function clientIdOf(ctx: KoaContextWithOIDC): string | undefined {
  return ctx.oidc.client?.clientId ?? stateOf(ctx).disabledClientId;
}

/** Only the client's own: any other text is the caller's. */
export function grantTypeOf({ oidc: { client, params } }: KoaContextWithOIDC): string | undefined {
  const grantType = params?.['grant_type'];
  return typeof grantType === 'string' && client?.grantTypeAllowed(grantType) ? grantType : undefined;
}

/** The grant of the code or refresh token that a client presented; none when it is another client's. */
export function grantOf(ctx: KoaContextWithOIDC): { id: string; userId: string } | undefined {
  const { grant } = stateOf(ctx);
  return grant && grant.clientId === ctx.oidc.client?.clientId ? grant : undefined;
}

/** Why a request was refused: what the client is told, and what it is not. */
export function reasonOf(
  ctx: KoaContextWithOIDC,
  error: errors.OIDCProviderError,
): { readonly description: string | undefined; readonly detail: string | undefined } {
  // The one error of the engine that repeats what the request said.
  const origin = ctx.get('origin');
  const isRepeating = origin !== '' && error.error_description?.includes(origin);
  return {
    description: isRepeating ? 'this origin is not allowed for the client' : error.error_description,
    detail: error.error_detail,
  };
}
