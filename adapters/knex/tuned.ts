import type { Knex } from 'knex';

import { setUps } from './set-ups.ts';
import type { SetUp } from './set-ups.ts';

/** The other names that Knex has for a client. */
const ALIASES: Readonly<Record<string, string>> = { postgres: 'pg', postgresql: 'pg' };

// In milliseconds: what the way to a server may need, also when nobody wants to wait for it that long. Longer would not do:
// as long as connections that will never be are being opened, the pool opens no others.
const LEAST_CONNECT_TIMEOUT = 1000;

/**
 * A configuration for connections that nobody else uses, with every wait bounded by `timeout` milliseconds.
 *
 * What the configuration says itself stays.
 */
export function tuned(config: Knex.Config, timeout: number): Knex.Config {
  const { client, pool } = config;
  const driver = String(typeof client === 'function' ? client.prototype.driverName : client);
  const setUp = setUps[ALIASES[driver] ?? driver];
  const isFile = driver === 'better-sqlite3';
  return {
    acquireConnectionTimeout: timeout,
    ...(isFile ? { useNullAsDefault: true } : {}),
    ...config,
    pool: {
      // A server's connections are closed when nobody needs them; a database in memory lives in its connection.
      ...(isFile ? {} : { min: 0, createTimeoutMillis: Math.max(timeout, LEAST_CONNECT_TIMEOUT) }),
      ...pool,
      ...(setUp ? { afterCreate: afterCreate(setUp, timeout, pool?.afterCreate) } : {}),
    },
  };
}

type Done = (error: unknown, connection: unknown) => void;

/** Knex's hook, with what the configuration has there afterwards. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- Knex's own type of the hook
function afterCreate(setUp: SetUp, timeout: number, then: Function | undefined) {
  return (connection: never, done: Done): void => {
    setUp(connection, timeout, (error) => {
      if (error === undefined && then) then(connection, done);
      else done(error, connection);
    });
  };
}
