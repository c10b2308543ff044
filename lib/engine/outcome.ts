import { secondsSince } from '../contracts/clock.ts';
import type { RequestOutcome } from '../contracts/index.ts';
import { requestIdOf } from '../http/request.ts';
import { isUnavailable } from '../http/unavailable.ts';
import type { EngineRequest, OAuthError } from './request.ts';

/*
 * The facts of a request that may appear in logs and audit records. Parameters contain secrets, codes and tokens, sometimes in
 * the wrong field, so a parameter's value is used only when this server or the stored client knows it.
 */

/** The id of the client when it is disabled. */
export function disabledClientId({ client }: EngineRequest): string | undefined {
  return client?.client.disabled ? client.client.id : undefined;
}

/** The id of the existing client that the request names; it may be disabled. */
export function clientIdOf(request: EngineRequest): string | undefined {
  return request.oidc?.client?.clientId ?? disabledClientId(request);
}

/**
 * The grant type of the request, when the server or the stored client knows it; any other value is the caller's text.
 */
export function grantTypeOf(request: EngineRequest): string | undefined {
  const { client, params } = request.oidc ?? {};
  const grantType = params?.['grant_type'];
  if (typeof grantType !== 'string') return undefined;
  return request.engine!.grants.has(grantType) || client?.grantTypeAllowed(grantType) ? grantType : undefined;
}

/** The grant of the code or refresh token that a client presented; `undefined` when it belongs to another client. */
export function grantOf(request: EngineRequest): { id: string; userId: string } | undefined {
  const grant = request.credential?.grant;
  return grant?.clientId === request.oidc?.client?.clientId ? grant : undefined;
}

/** The grant type that a request asks for, of those of this server. */
export function requestedGrantType(request: EngineRequest): string | undefined {
  const { grantType: ofEndpoint } = request.endpoint;
  if (!ofEndpoint?.isSent) return ofEndpoint?.name;
  const grantType = request.oidc?.params?.['grant_type'];
  return typeof grantType === 'string' && request.engine!.grants.has(grantType) ? grantType : undefined;
}

/** Whether an error says that the client has to ask again. */
export function isPending(request: EngineRequest, error: string): boolean {
  const grantType = String(request.oidc?.params?.['grant_type']);
  return request.engine?.grants.get(grantType)?.pending?.includes(error) === true;
}

/** The OAuth error code of a response to a failure of the server. */
export function errorOfFailure(failure: unknown): 'temporarily_unavailable' | 'server_error' {
  return isUnavailable(failure) ? 'temporarily_unavailable' : 'server_error';
}

/** The outcome of a request whose response is complete, or at which the engine threw. */
export function outcomeOf(request: EngineRequest): RequestOutcome {
  const { clientId, endpoint, engineContext, failure, host, mustRestart, refused, startedAt } = request;
  // The browser sends a request that must restart again.
  const oauthError = mustRestart ? undefined : refused;
  return {
    endpoint: isLogged(request) ? endpoint : undefined,
    answer: {
      requestId: requestIdOf(host),
      clientId: request.oidc ? clientIdOf(request) : clientId,
      grantType: grantTypeOf(request),
      status: (engineContext ?? host).status,
      error: failure === undefined ? oauthError?.error : errorOfFailure(failure),
      seconds: secondsSince(startedAt),
    },
    isPending: oauthError !== undefined && isPending(request, oauthError.error),
    reason: oauthError?.reason,
    failure,
    revokedGrantId: request.revokedGrantId,
  };
}

/** The outcome of a request that was refused before anything else was read of it. */
export function refusedOutcome(
  request: EngineRequest,
  { error, reason, status }: OAuthError & { readonly status: number },
): RequestOutcome {
  return {
    endpoint: isLogged(request) ? request.endpoint : undefined,
    answer: {
      requestId: requestIdOf(request.host),
      clientId: undefined,
      grantType: undefined,
      status,
      error,
      seconds: 0,
    },
    reason,
    failure: undefined,
    revokedGrantId: undefined,
  };
}

/** A CORS preflight that does not fail is neither logged nor observed. */
function isLogged({ endpoint, host }: EngineRequest): boolean {
  return endpoint.isLogged && host.method !== 'OPTIONS';
}
