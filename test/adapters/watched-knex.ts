import knex from 'knex';
import type { Knex } from 'knex';

import type { TestDatabase } from './databases.ts';

/** The argument of a driver's query method, by driver. */
type Statement =
  | string
  | (({ readonly text: string } | { readonly sql: string }) & { readonly values?: readonly unknown[] });

type Send = (statement: Statement, ...rest: unknown[]) => unknown;

/**
 * A host's Knex instance that calls `see` before each statement is sent; on SQLite, before it is prepared.
 *
 * @param address - as {@link TestDatabase.empty} gives it
 */
export function watchedKnex(
  client: TestDatabase['client'],
  address: string,
  see: (sql: string, values: readonly unknown[]) => void,
): Knex {
  const method = client === 'better-sqlite3' ? 'prepare' : 'query';
  return knex({
    client,
    connection: client === 'better-sqlite3' ? { filename: address.slice('sqlite:'.length) } : address,
    useNullAsDefault: true,
    log: { warn() {} },
    pool: {
      afterCreate(connection: Record<string, Send>, done: (error?: Error) => void) {
        const send = connection[method]!.bind(connection);
        connection[method] = (statement, ...rest) => {
          see(textOf(statement), typeof statement === 'string' ? [] : (statement.values ?? []));
          return send(statement, ...rest);
        };
        done();
      },
    },
  });
}

function textOf(statement: Statement): string {
  if (typeof statement === 'string') return statement;
  return 'text' in statement ? statement.text : statement.sql;
}
