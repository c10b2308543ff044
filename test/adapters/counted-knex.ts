import knex from 'knex';
import type { Knex } from 'knex';

import type { TestDatabase } from './databases.ts';
import { watchedKnex } from './watched-knex.ts';

interface Statement {
  get: Run;
  all: Run;
  run: Run;
}

type Run = (...values: unknown[]) => unknown;

/**
 * A host's Knex instance that calls `see` whenever a statement is run. Unlike {@link watchedKnex}, on SQLite it also counts
 * runs of a statement that is prepared already.
 */
export function countedKnex(
  client: TestDatabase['client'],
  address: string,
  see: (sql: string, values: readonly unknown[]) => void,
): Knex {
  if (client !== 'better-sqlite3') return watchedKnex(client, address, see);
  return knex({
    client,
    connection: { filename: address.slice('sqlite:'.length) },
    useNullAsDefault: true,
    pool: {
      afterCreate(connection: { prepare(sql: string): Statement }, done: () => void) {
        const prepare = connection.prepare.bind(connection);
        connection.prepare = (sql) => {
          const statement = prepare(sql);
          for (const method of ['get', 'all', 'run'] as const) {
            const run = statement[method].bind(statement);
            statement[method] = (...given) => {
              see(sql, (given[0] ?? []) as readonly unknown[]);
              return run(...given);
            };
          }
          return statement;
        };
        done();
      },
    },
  });
}
