import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { RequestOutcome } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import { endpointAt, registrationAt } from './endpoints.ts';
import { disabledClientId, errorOfFailure, requestOf } from './request.ts';
import type { EngineRequest } from './request.ts';
import { DEVICE_GRANT } from '../contracts/devices.ts';

/*
 * The facts of a request that may appear in logs and audit records. Parameters contain secrets, codes and tokens, sometimes in
 * the wrong field, so a parameter's value is used only when this server or the client's registration knows it.
 */

/** The id of the existing client that the request names; it may be disabled. */
export function clientIdOf(ctx: KoaContextWithOIDC): string | undefined {
  return ctx.oidc.client?.clientId ?? disabledClientId(requestOf(ctx));
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

/** The grant type that a request to the token or the device authorization endpoint asks for, of those of this server. */
export function requestedGrantType({ oidc: { params, route } }: KoaContextWithOIDC): string | undefined {
  if (route === 'device_authorization') return DEVICE_GRANT;
  const grantType = route === 'token' ? params?.['grant_type'] : undefined;
  return typeof grantType === 'string' && GRANT_TYPES.has(grantType) ? grantType : undefined;
}

/**
 * The outcome of a request whose response is complete, or at which the engine threw.
 *
 * @param engineContext - the engine's context, with the response
 */
export function outcomeOf(engineContext: Context, request: EngineRequest): RequestOutcome {
  const { clientId, endpoint, failure, host, mustRestart, refused, revokedGrantId, startedAt } = request;
  // The engine sets `oidc`; a request that was answered before it ran has none.
  const oidcContext = 'oidc' in engineContext ? (engineContext as unknown as KoaContextWithOIDC) : undefined;
  // The browser sends a request that must restart again.
  const oauthError = mustRestart ? undefined : refused;
  return {
    endpoint: isPreflight(engineContext) ? undefined : endpoint,
    answer: {
      requestId: requestIdOf(host),
      clientId: oidcContext ? clientIdOf(oidcContext) : clientId,
      grantType: oidcContext && grantTypeOf(oidcContext),
      status: engineContext.status,
      error: failure === undefined ? oauthError?.error : errorOfFailure(failure),
      seconds: (performance.now() - startedAt) / 1000,
    },
    reason: oauthError?.reason,
    failure,
    revokedGrantId,
  };
}

/** The outcome of a request that the concurrency limit refused, because the server is overloaded or closing. */
export function overloadedOutcome(ctx: Context, reason: string): RequestOutcome {
  const endpoint = registrationAt(ctx.path) ? 'registration' : endpointAt(ctx.path);
  return {
    endpoint: isPreflight(ctx) ? undefined : endpoint,
    answer: {
      requestId: requestIdOf(ctx),
      clientId: undefined,
      grantType: undefined,
      status: 503,
      error: 'temporarily_unavailable',
      seconds: 0,
    },
    reason,
    failure: undefined,
    revokedGrantId: undefined,
  };
}

/** Whether it is a CORS preflight. One that does not fail is neither logged nor observed. */
function isPreflight({ method }: Context): boolean {
  return method === 'OPTIONS';
}
