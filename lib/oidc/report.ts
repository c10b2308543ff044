import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { AuditLog, EndpointOutcome, Logger, WorkSpan } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import { endpointAt } from './endpoints.ts';
import type { Endpoint } from './endpoints.ts';
import { requestOf } from './engine-request.ts';
import type { Outcome } from './outcome.ts';
import { clientIdOf, grantTypeOf } from './request-facts.ts';

/** Tells the log, the trace and the observers what became of a request to the engine. One of the two, once for each. */
export interface Report {
  /** @param engineContext - the engine's context, with the answer */
  answered(engineContext: Context, span: WorkSpan | undefined): void;
  /** The engine has not seen it: the server is too busy, or it stops. */
  notAdmitted(ctx: Context, reason: string): void;
}

export function createReport(
  logger: Logger,
  observers: { readonly answered: ((outcome: EndpointOutcome) => void) | undefined },
): Report {
  function notify(endpoint: Endpoint | undefined, answer: Answer, outcome: Told): void {
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
    notAdmitted(ctx, reason) {
      const error = 'temporarily_unavailable';
      const answer = {
        requestId: requestIdOf(ctx),
        clientId: undefined,
        grantType: undefined,
        status: 503,
        error,
        seconds: 0,
      };
      notify(isPreflight(ctx) ? undefined : endpointAt(ctx.path), answer, { oauthError: { error, reason } });
    },
  };
}

/** A browser asking whether it may ask. */
function isPreflight({ method }: Context): boolean {
  return method === 'OPTIONS';
}

/**
 * Writes the one line about a request to the engine.
 *
 * - `error`: a fault of the server, with `err`
 * - `warn`: a code or a refresh token came a second time, and what was issued for it is revoked
 * - `info`: issued, given back, or refused
 * - `debug`: introspected, which a resource server may do for each request of its own
 */
function logAnswer(
  logger: Logger,
  endpoint: Endpoint | undefined,
  { clientId, error, grantType, requestId, seconds, status }: Answer,
  { oauthError, failure, revokedGrantId }: Told,
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
  else if (oauthError && endpoint !== undefined)
    write(revokedGrantId === undefined ? 'info' : 'warn', 'refused');
  else if (endpoint === 'token') write('info', 'issued');
  else if (endpoint === 'revocation') write('info', 'answered');
  else if (endpoint === 'introspection') write('debug', 'answered');
}

/** Writes a line, at `info`, about each person who signs in, fails to, may not try for now, or signs out. */
export function logLogins(audit: Pick<AuditLog, 'on'>, logger: Logger): void {
  for (const type of ['login', 'login_failed', 'login_throttled', 'logout'] as const) {
    audit.on(type, (record) => {
      const { address, requestId } = record;
      const clientId = 'clientId' in record ? record.clientId : undefined;
      const userId = 'userId' in record ? record.userId : undefined;
      // Not the login name: people type their password into its field.
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

/** What became of a request to one of the engine's endpoints, that of authorization included. */
type Answer = Omit<EndpointOutcome, 'endpoint'>;

/** What only the log line tells besides. */
type Told = Partial<Pick<Outcome, 'oauthError' | 'failure' | 'revokedGrantId'>>;

/** Reads it from the engine's context when the answer is ready, or when there will be none. */
function answerOf(engineContext: Context): Answer {
  const { outcome, requestId, startedAt } = requestOf(engineContext);
  // Not there when the request was answered before the engine saw it.
  const known = 'oidc' in engineContext ? (engineContext as unknown as KoaContextWithOIDC) : undefined;
  return {
    requestId,
    clientId: known && clientIdOf(known),
    grantType: known && grantTypeOf(known),
    status: engineContext.status,
    error: outcome.error,
    seconds: (performance.now() - startedAt) / 1000,
  };
}
