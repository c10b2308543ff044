import type { Knex } from 'knex';

import { parseMilliseconds } from '../../lib/contracts/duration.ts';
import type { Duration } from '../../lib/contracts/duration.ts';
import type { Storage } from '../../lib/contracts/index.ts';
import { ConfigError } from '../../lib/errors.ts';
import { createDatabase } from './database.ts';
import { migrate } from './migrate.ts';
import { findPendingMigrations } from './migrations/index.ts';
import { openDatabase } from './open-database.ts';
import { diagnose, prune } from './prune.ts';
import { assignmentStore } from './stores/assignments.ts';
import { attemptStore } from './stores/attempts.ts';
import { auditStore } from './stores/audit.ts';
import { clientStore } from './stores/clients.ts';
import { consentStore } from './stores/consents.ts';
import { credentialStore } from './stores/credentials.ts';
import { grantStore } from './stores/grants.ts';
import { idempotencyStore } from './stores/idempotency.ts';
import { keyStore } from './stores/keys.ts';
import { revocationStore } from './stores/revocations.ts';
import { sessionStore } from './stores/sessions.ts';
import { transact } from './transact.ts';

/** How the storage uses its database. */
export interface KnexStorageOptions {
  /**
   * How long a call waits for a free connection, for locks and for the server's answer before it throws `StorageError`: such as
   * `'2 seconds'` or `'500 ms'`, 10 minutes at most. Then the server is asked to stop the statement, which takes a second more
   * if it does not answer.
   *
   * @default '5 seconds'
   */
  readonly timeout?: Duration | undefined;
}

/**
 * Storage in an SQL database: SQLite (`better-sqlite3`), PostgreSQL (`pg`), MariaDB or MySQL (`mysql2`).
 *
 * With the app's own Knex instance, the storage shares its pool, and `close()` leaves the pool open. With an address or a Knex
 * configuration, the storage opens its own pool, and `close()` closes it. The names of its tables begin with `gatehouse_`; it
 * uses no other table, the app's `knex_migrations` included. Call `migrate()` once before serving.
 *
 * Connections of its own pool are configured: an SQLite file is put in WAL mode, and a server gets time limits for statements,
 * locks and idle transactions. Connections of the app's pool are not configured. SQLite's pool has one connection: a call from
 * inside a transaction of the app waits for the end of that transaction, so do not await it there.
 *
 * `transaction()` passes a `Knex.Transaction` to the work. On SQLite one runs at a time, with a pause between two of them for
 * other calls. It waits no longer than `timeout` for a connection and, on SQLite, for other writers; the time limits of the
 * work's own statements are those of the connection. A connection of the storage's own pool is closed, and its transaction
 * rolled back, when the work sends nothing for longer than `timeout`, so wait for nothing else in it.
 *
 * Revoking or removing a very large number of grants is done in batches, each of them atomic. After an error or a crash
 * between two batches, repeat the call to finish.
 *
 * @example
 * knexStorage(knex)                          // the app's own
 * knexStorage('sqlite:./data.db')            // or 'data.db', or 'sqlite:///var/lib/app/data.db'
 * knexStorage('postgres://app@localhost/app')
 *
 * @param database - the app's Knex instance, an address such as `sqlite:./data.db`, or a configuration of Knex
 * @param options - how long calls may take
 * @throws ConfigError for an address that cannot be understood, a database that is not supported, or a driver that is
 * not installed; the message names the package to install
 */
export function knexStorage(
  database: Knex | Knex.Config | string,
  options: KnexStorageOptions = {},
): Storage {
  const timeout = checkTimeout(options.timeout ?? '5 seconds');
  const source = openDatabase(database, timeout);
  const opened = createDatabase(source.pool, source.dialect, timeout, source.reader);

  return {
    durable: source.durable,
    clients: clientStore(opened),
    consents: consentStore(opened),
    grants: grantStore(opened),
    credentials: credentialStore(opened),
    revocations: revocationStore(opened),
    sessions: sessionStore(opened),
    keys: keyStore(opened),
    assignments: assignmentStore(opened),
    audit: auditStore(opened),
    idempotency: idempotencyStore(opened),
    attempts: attemptStore(opened),
    transaction: async (work) => transact(opened, source.knex(), work),
    migrate: async () => migrate(opened),
    pendingMigrations: async () =>
      opened.connection(async (statements) => findPendingMigrations(statements, opened.dialect)),
    prune: async (now, limit) => prune(opened, now, limit),
    diagnose: async () => diagnose(opened),
    async close() {
      await opened.settled();
      await source.close();
    },
  };
}

// A number of milliseconds, given by mistake, is longer than that in seconds.
const LONGEST_TIMEOUT = 10 * 60_000;

/** In milliseconds. */
function checkTimeout(timeout: unknown): number {
  const milliseconds = parseMilliseconds(timeout);
  if (milliseconds !== undefined && milliseconds > 0 && milliseconds <= LONGEST_TIMEOUT) return milliseconds;
  throw new ConfigError(
    'knexStorage({ timeout })',
    "give seconds, or a number and a unit such as '5 seconds' or '500 ms'; more than 0, at most 10 minutes",
  );
}
