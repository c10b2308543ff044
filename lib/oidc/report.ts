import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { AuditLog, EndpointOutcome, Logger, WorkSpan } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import { endpointAt, registrationAt } from './endpoints.ts';
import type { Endpoint } from './endpoints.ts';
import { requestOf } from './engine-request.ts';
import type { Outcome } from './outcome.ts';
import { clientIdOf, grantTypeOf } from './request-facts.ts';
import { isPollAnswer } from './user-codes.ts';

/**
 * Reports the outcome of a request to the engine to the log, the trace and the observers. One method is called, once per
 * request.
 */
export interface Report {
  /** @param engineContext - the engine's context, with the response */
  answered(engineContext: Context, span: WorkSpan | undefined): void;
  /** The concurrency limit refused the request before the engine ran, because the server is overloaded or closing. */
  overloaded(ctx: Context, reason: string): void;
}

export function createReport(
  logger: Logger,
  observers: { readonly answered: ((outcome: EndpointOutcome) => void) | undefined },
): Report {
  function notify(endpoint: Endpoint | undefined, answer: Answer, outcome: LoggedOutcome): void {
    logAnswer(logger, endpoint, answer, outcome);
    if (endpoint !== undefined && endpoint !== 'authorization') observers.answered?.({ endpoint, ...answer });
  }

  return {
    answered(engineContext, span) {
      const { endpoint, outcome } = requestOf(engineContext);
      const answer = answerOf(engineContext);
      notify(isPreflight(engineContext) ? undefined : endpoint, answer, outcome);
      span?.set({
        'http.response.status_code': answer.status,
        'error.type': answer.error,
        'oauth.client_id': answer.clientId,
        'oauth.grant_type': answer.grantType,
        'gatehouse.request_id': answer.requestId,
      });
      if (outcome.failure !== undefined) span?.fail(outcome.failure);
    },
    overloaded(ctx, reason) {
      const error = 'temporarily_unavailable';
      const answer = {
        requestId: requestIdOf(ctx),
        clientId: undefined,
        grantType: undefined,
        status: 503,
        error,
        seconds: 0,
      };
      const endpoint = registrationAt(ctx.path) ? 'registration' : endpointAt(ctx.path);
      notify(isPreflight(ctx) ? undefined : endpoint, answer, { oauthError: { error, reason } });
    },
  };
}

/** Whether it is a CORS preflight. One that does not fail is neither logged nor observed. */
function isPreflight({ method }: Context): boolean {
  return method === 'OPTIONS';
}

/**
 * Writes the log line of a request to the engine.
 *
 * - `error`: a failure of the server, with `err`
 * - `warn`: a spent code or refresh token was presented again, and its grant was revoked
 * - `info`: a token was issued or revoked, or the request was refused
 * - `debug`: a device polled and has to wait, or a token was introspected, which a resource server may do for each of its own requests
 */
function logAnswer(
  logger: Logger,
  endpoint: Endpoint | undefined,
  { clientId, error, grantType, requestId, seconds, status }: Answer,
  { oauthError, failure, revokedGrantId }: LoggedOutcome,
): void {
  const write = (level: keyof Logger, outcome: string, message = `${endpoint} ${outcome}`): void => {
    const fields = {
      request_id: requestId,
      endpoint,
      outcome,
      client_id: clientId,
      grant_type: grantType,
      status,
      error,
      reason: oauthError?.reason,
      revoked_grant_id: revokedGrantId,
      duration_ms: Math.round(seconds * 10_000) / 10,
      err: failure,
    };
    logger[level](withoutEmpty(fields), message);
  };
  if (failure !== undefined) write('error', 'failed', 'request failed');
  else if (isPollAnswer(error)) write('debug', 'polled');
  else if (oauthError && endpoint !== undefined)
    write(revokedGrantId === undefined ? 'info' : 'warn', 'refused');
  else if (endpoint === 'token') write('info', 'issued');
  else if (endpoint === 'revocation' || endpoint === 'registration' || endpoint === 'device_authorization')
    write('info', 'answered');
  else if (endpoint === 'introspection') write('debug', 'answered');
}

/** Writes a log line, at `info`, for each login, failed login, throttled login and logout. */
export function logLogins(audit: Pick<AuditLog, 'on'>, logger: Logger): void {
  for (const type of ['login', 'login_failed', 'login_throttled', 'logout'] as const) {
    audit.on(type, (record) => {
      const { address, requestId } = record;
      const clientId = 'clientId' in record ? record.clientId : undefined;
      const userId = 'userId' in record ? record.userId : undefined;
      // Not the login name, because users type their password into its field by mistake.
      const fields = { request_id: requestId, user_id: userId, client_id: clientId, address };
      logger.info(withoutEmpty(fields), type.replace('_', ' '));
    });
  }
}

function withoutEmpty(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept;
}

/** The outcome of a request to one of the engine's endpoints, including the authorization endpoint. */
type Answer = Omit<EndpointOutcome, 'endpoint'>;

/** The parts of the outcome that only the log line contains. */
type LoggedOutcome = Partial<Pick<Outcome, 'oauthError' | 'failure' | 'revokedGrantId'>>;

/** Reads the outcome from the engine's context when the response is complete, or when the engine threw. */
function answerOf(engineContext: Context): Answer {
  const { clientId, outcome, requestId, startedAt } = requestOf(engineContext);
  // The engine sets `oidc`; a request that was answered before it ran has none.
  const oidcContext = 'oidc' in engineContext ? (engineContext as unknown as KoaContextWithOIDC) : undefined;
  return {
    requestId,
    clientId: oidcContext ? clientIdOf(oidcContext) : clientId,
    grantType: oidcContext && grantTypeOf(oidcContext),
    status: engineContext.status,
    error: outcome.error,
    seconds: (performance.now() - startedAt) / 1000,
  };
}
