import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { AuditOrigin } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import { assertionRefusal } from './client-assertion.ts';
import { requestOf } from './engine-request.ts';
import type { OAuthError } from './outcome.ts';
import { DEVICE_GRANT } from './user-codes.ts';

/*
 * The facts of a request that may appear in logs and audit records. Parameters contain secrets, codes and tokens, sometimes in
 * the wrong field, so a parameter's value is used only when this server or the client's registration knows it.
 */

/** The id of the existing client that the request names; it may be disabled. */
export function clientIdOf(ctx: KoaContextWithOIDC): string | undefined {
  return ctx.oidc.client?.clientId ?? requestOf(ctx).disabledClientId;
}

const GRANT_TYPES: ReadonlySet<string> = new Set([
  'authorization_code',
  'refresh_token',
  'client_credentials',
  DEVICE_GRANT,
]);

/**
 * The grant type of the request, when the server or the client's registration knows it; any other value is the caller's text.
 */
export function grantTypeOf({ oidc: { client, params } }: KoaContextWithOIDC): string | undefined {
  const grantType = params?.['grant_type'];
  if (typeof grantType !== 'string') return undefined;
  return GRANT_TYPES.has(grantType) || client?.grantTypeAllowed(grantType) ? grantType : undefined;
}

/** The grant of the code or refresh token that a client presented; `undefined` when it belongs to another client. */
export function grantOf(ctx: KoaContextWithOIDC): { id: string; userId: string } | undefined {
  const grant = requestOf(ctx).credential?.grant;
  return grant?.clientId === ctx.oidc.client?.clientId ? grant : undefined;
}

/** Whether the engine refused the request because the client may not use the grant type. */
export function isGrantTypeRefused(ctx: KoaContextWithOIDC): boolean {
  const { client, params, route } = ctx.oidc;
  const grantType = route === 'device_authorization' ? DEVICE_GRANT : params?.['grant_type'];
  return (
    (ctx.body as { error?: string } | undefined)?.error === 'invalid_request' &&
    typeof grantType === 'string' &&
    GRANT_TYPES.has(grantType) &&
    client?.grantTypeAllowed(grantType) === false
  );
}

/** The OAuth error of a request that the engine refused. */
export function oauthErrorOf(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): OAuthError {
  return {
    error: isGrantTypeRefused(ctx) ? 'unauthorized_client' : error.error,
    reason: reasonOf(ctx, error),
  };
}

function reasonOf(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): string {
  const refusal = error instanceof errors.InvalidClientAuth ? assertionRefusal(ctx) : undefined;
  if (refusal) return refusal.reason;
  if (requestOf(ctx).disabledClientId !== undefined) return 'the app is disabled';
  if (error.error_detail !== undefined) return error.error_detail;
  // The one error of the engine whose description repeats text of the request.
  const origin = ctx.get('origin');
  const repeatsOrigin = origin !== '' && error.error_description?.includes(origin);
  if (repeatsOrigin) return 'this origin is not allowed for the client';
  return error.error_description ?? error.error;
}

/**
 * The address and the request id for audit records. Takes the host's context, because only its app knows whether to trust a
 * proxy.
 */
export function originOf(ctx: Context): AuditOrigin {
  return { address: ctx.ip, requestId: requestIdOf(ctx) };
}
