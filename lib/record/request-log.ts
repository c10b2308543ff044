import type { AuditLog, Logger, ReportOutcome, RequestOutcome } from '../contracts/index.ts';
import { logFailure } from '../http/unavailable.ts';
import type { createObservers } from './observers.ts';

export function createReport(
  logger: Logger,
  observers: Pick<ReturnType<typeof createObservers>, 'answered'>,
): ReportOutcome {
  return (outcome, span) => {
    const { answer, endpoint, failure } = outcome;
    logOutcome(logger, outcome);
    if (endpoint?.callers === 'clients') observers.answered?.({ endpoint: endpoint.name, ...answer });
    span?.set({
      'http.response.status_code': answer.status,
      'error.type': answer.error,
      'oauth.client_id': answer.clientId,
      'oauth.grant_type': answer.grantType,
      'gatehouse.request_id': answer.requestId,
    });
    if (failure !== undefined) span?.fail(failure);
  };
}

/**
 * Writes the log line of a request to an endpoint.
 *
 * - `error`: a failure of the server, with `err`
 * - `warn`: a spent code or refresh token was presented again, and its grant was revoked
 * - `info`: a token was issued or revoked, or the request was refused
 * - `debug`: a device polled and has to wait, a token was introspected, which a resource server may do for each of its own requests, or
 *   the userinfo endpoint was read
 */
function logOutcome(
  logger: Logger,
  { answer, endpoint, failure, isPending, reason, revokedGrantId }: RequestOutcome,
): void {
  const { clientId, error, grantType, requestId, seconds, status } = answer;
  const write = (level: keyof Logger, outcome: string, message = `${endpoint?.name} ${outcome}`): void => {
    const fields = {
      request_id: requestId,
      endpoint: endpoint?.name,
      outcome,
      client_id: clientId,
      grant_type: grantType,
      status,
      error,
      reason,
      revoked_grant_id: revokedGrantId,
      duration_ms: Math.round(seconds * 10_000) / 10,
      err: failure,
    };
    if (level === 'error') logFailure(logger, withoutEmpty(fields), message);
    else logger[level](withoutEmpty(fields), message);
  };
  if (failure !== undefined) return write('error', 'failed', 'request failed');
  if (isPending === true) return write('debug', 'polled');
  if (endpoint === undefined) return undefined;
  if (reason !== undefined) return write(revokedGrantId === undefined ? 'info' : 'warn', 'refused');
  const { success } = endpoint;
  return success && write(success.level, success.outcome);
}

/** Writes a log line, at `info`, for each login, failed login, throttled login and logout. */
export function logLogins(audit: Pick<AuditLog, 'on'>, logger: Logger): void {
  for (const type of ['login', 'login_failed', 'login_throttled', 'logout'] as const) {
    audit.on(type, (record) => {
      const { address, requestId } = record;
      const clientId = 'clientId' in record ? record.clientId : undefined;
      const userId = 'userId' in record ? record.userId : undefined;
      // Not the login name, because users type their password into its field by mistake.
      const outcome = type === 'login_failed' || type === 'login_throttled' ? 'refused' : undefined;
      const fields = { request_id: requestId, outcome, user_id: userId, client_id: clientId, address };
      logger.info(withoutEmpty(fields), type.replace('_', ' '));
    });
  }
}

function withoutEmpty(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept;
}
