import knex from 'knex';
import type { Knex } from 'knex';

import type { ServerKind } from './servers.ts';

interface Connection {
  query(sql: string, done: (error?: Error) => void): void;
}

/** A host's Knex instance with settings that must not change what the storage does. */
export function hostKnex(client: ServerKind['client'], address: string, setting: string): Knex {
  return knex({
    client,
    connection: address,
    postProcessResponse: () => 'not for Gatehouse',
    wrapIdentifier: (value, original) => original(value.toUpperCase()),
    pool: {
      afterCreate(connection: Connection, done: (error?: Error) => void) {
        connection.query(setting, done);
      },
    },
  });
}
