/** Failures that end when the database, the storage's or the host's own, can be reached again: they are answered with 503. */
import type { Logger, Milliseconds } from '../contracts/index.ts';
import {
  CONNECTION_ERRORS,
  GatehouseError,
  isBrokenAnswer,
  MigrationsPendingError,
  StorageError,
} from '../errors.ts';

/** Of Node and mysql2, and SQLSTATEs of PostgreSQL: no connection could be made, or the server has closed it. */
const CODES: ReadonlySet<unknown> = new Set([
  ...CONNECTION_ERRORS,
  'ER_CON_COUNT_ERROR',
  'ER_CONNECTION_KILLED',
  'ER_SERVER_SHUTDOWN',
  'PROTOCOL_CONNECTION_LOST',
  '53300', // too_many_connections
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
]);

// Of pg, whose errors have no code then.
const MESSAGES = /^Connection terminated|has encountered a connection error|^timeout expired$/;

/** Whether the storage, or a database that the host uses with a driver or with Knex, cannot be reached at the moment. */
export function isUnavailable(error: unknown): error is Error {
  if (error instanceof StorageError || error instanceof MigrationsPendingError) return true;
  // The cause of any other one of these is known, such as a site that cannot be reached.
  if (!(error instanceof Error) || error instanceof GatehouseError) return false;
  return isLostConnection(error) || isLostConnection(error.cause);
}

function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  // SQLSTATE's class 08 is that of connections.
  return (
    CODES.has(code) ||
    isBrokenAnswer(error) ||
    /^08[0-9A-Z]{3}$/.test(code) ||
    error.name === 'KnexTimeoutError' ||
    MESSAGES.test(driverMessageOf(error))
  );
}

/** What the driver says. Knex puts the statement, with its values, and " - " in front. */
function driverMessageOf({ message }: Error): string {
  return message.split(' - ').at(-1)!;
}

/** The error without the statement, whose values may be personal data or secrets. */
function withoutStatement(error: Error): Error {
  const message = driverMessageOf(error);
  if (message === error.message) return error;
  const { name, stack } = error;
  const code = 'code' in error ? { code: error.code } : {};
  return Object.assign(new Error(message), {
    name,
    stack: stack?.replace(error.message, () => message),
    ...code,
  });
}

const INTERVAL: Milliseconds = 10_000;

/** By logger, the failures since the last line about their level and cause. */
const counted = new WeakMap<Logger, Map<string, number>>();

/**
 * Logs the failure of a request or of a job. While the same cause makes others fail, only the first one has a line of its own; each
 * ten seconds another line has the number of the others.
 */
export function logFailure(
  logger: Logger,
  fields: { readonly err?: unknown; readonly [name: string]: unknown },
  message: string,
  level: 'error' | 'warn' = 'error',
): void {
  if (!isUnavailable(fields.err)) {
    logger[level](fields, message);
    return;
  }
  const err = withoutStatement(fields.err);
  const counts = counted.get(logger) ?? new Map<string, number>();
  counted.set(logger, counts);
  const cause = `${err.name}: ${err.message}`;
  const key = `${level} ${cause}`;
  const count = counts.get(key);
  counts.set(key, count === undefined ? 0 : count + 1);
  if (count !== undefined) return;
  logger[level]({ ...fields, err }, message);

  const timer = setInterval(() => {
    const others = counts.get(key)!;
    counts.set(key, 0);
    if (others > 0) logger[level]({ cause, count: others }, `${message} again`);
    else {
      clearInterval(timer);
      counts.delete(key);
    }
  }, INTERVAL).unref();
}
