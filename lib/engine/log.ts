import type { AuditLog, Logger } from '../contracts.ts';
import type { Endpoint } from './endpoints.ts';
import type { Outcome } from './outcome.ts';
import type { RequestState } from './request-state.ts';

/**
 * Writes the one line about a request to the engine.
 *
 * - `error`: a fault of the server, with `err`
 * - `warn`: a code or a refresh token came a second time, and what was issued for it is revoked
 * - `info`: issued, given back, or refused
 * - `debug`: introspected, which a resource server may do for each request of its own
 */
export function logOutcome(
  logger: Logger,
  endpoint: Endpoint | undefined,
  { clientId, error, grantType, requestId, seconds, status }: Outcome,
  { denial, failure, revokedGrantId }: Pick<RequestState, 'denial' | 'failure' | 'revokedGrantId'>,
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
      reason: denial?.reason,
      revoked_grant_id: revokedGrantId,
      duration_ms: Math.round(seconds * 10_000) / 10,
      err: failure,
    };
    logger[level](withoutEmpty(fields), message);
  };
  if (failure !== undefined) write('error', 'failed', 'request failed');
  else if (denial && endpoint !== undefined) write(revokedGrantId === undefined ? 'info' : 'warn', 'refused');
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
