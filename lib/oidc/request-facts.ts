import type { Context } from 'koa';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';

import type { AuditOrigin } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import { requestOf } from './engine-request.ts';
import type { OAuthError } from './outcome.ts';

/*
 * What may be told of a request to people who read logs and records. Parameters hold secrets, codes and tokens, and what
 * strangers put into the wrong field: none is passed on, unless it is found to be something that this server knows.
 */

/** The client that the request names, if there is one, also one that is disabled. */
export function clientIdOf(ctx: KoaContextWithOIDC): string | undefined {
  return ctx.oidc.client?.clientId ?? requestOf(ctx).disabledClientId;
}

const GRANT_TYPES: ReadonlySet<string> = new Set([
  'authorization_code',
  'refresh_token',
  'client_credentials',
]);

/** Only one that the server or the client's own registration knows: any other text is the caller's. */
export function grantTypeOf({ oidc: { client, params } }: KoaContextWithOIDC): string | undefined {
  const grantType = params?.['grant_type'];
  if (typeof grantType !== 'string') return undefined;
  return GRANT_TYPES.has(grantType) || client?.grantTypeAllowed(grantType) ? grantType : undefined;
}

/** The grant of the code or refresh token that a client presented; none when it is another client's. */
export function grantOf(ctx: KoaContextWithOIDC): { id: string; userId: string } | undefined {
  const grant = requestOf(ctx).credential?.grant;
  return grant?.clientId === ctx.oidc.client?.clientId ? grant : undefined;
}

/** Whether the engine has refused a token because its client may not use the grant type. */
export function isGrantTypeRefused(ctx: KoaContextWithOIDC): boolean {
  const { client, params } = ctx.oidc;
  const grantType = params?.['grant_type'];
  return (
    (ctx.body as { error?: string } | undefined)?.error === 'invalid_request' &&
    typeof grantType === 'string' &&
    GRANT_TYPES.has(grantType) &&
    client?.grantTypeAllowed(grantType) === false
  );
}

/** Why the engine has refused a request. */
export function oauthErrorOf(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): OAuthError {
  return {
    error: isGrantTypeRefused(ctx) ? 'unauthorized_client' : error.error,
    reason: reasonOf(ctx, error),
  };
}

function reasonOf(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): string {
  if (requestOf(ctx).disabledClientId !== undefined) return 'the app is disabled';
  if (error.error_detail !== undefined) return error.error_detail;
  // The one error of the engine that repeats what the request said.
  const origin = ctx.get('origin');
  const isRepeating = origin !== '' && error.error_description?.includes(origin);
  if (isRepeating) return 'this origin is not allowed for the client';
  return error.error_description ?? error.error;
}

/** Where what a request does comes from. Takes the host's context: the engine's does not know whether the app trusts its proxy. */
export function originOf(ctx: Context): AuditOrigin {
  return { address: ctx.ip, requestId: requestIdOf(ctx) };
}
