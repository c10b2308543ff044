import knex from 'knex';
import type { Knex } from 'knex';

import type { TestDatabase } from './databases.ts';

/** The argument of a driver's query method, by driver. */
type Statement =
  | string
  | (({ readonly text: string } | { readonly sql: string }) & { readonly values?: readonly unknown[] });

type Send = (statement: Statement, ...rest: unknown[]) => unknown;

/**
 * A host's Knex instance that calls `see` before each statement is sent; on SQLite, before it is prepared. On a server, a statement
 * waits for the promise that `see` returns.
 *
 * @param address - as {@link TestDatabase.empty} gives it
 * @param setting - a statement that is sent first on each connection
 */
export function watchedKnex(
  client: TestDatabase['client'],
  address: string,
  see: (sql: string, values: readonly unknown[]) => Promise<void> | void,
  setting?: string,
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
          const pause = see(textOf(statement), typeof statement === 'string' ? [] : (statement.values ?? []));
          return pause instanceof Promise
            ? pause.then(() => sentBy(send, statement, rest))
            : send(statement, ...rest);
        };
        if (setting === undefined) done();
        else send(setting, done);
      },
    },
  });
}

/** A host's Knex instance on a server, whose statements can be paused, such as between two of a transaction. */
export interface PausableKnex {
  readonly host: Knex;
  /** Pauses the next statement of a text; `reached` resolves when it waits. */
  pause(this: void, statement: RegExp): { readonly reached: Promise<void>; readonly resume: () => void };
}

/** @param setting - what is sent first on each connection */
export function pausableKnex(client: TestDatabase['client'], address: string, setting: string): PausableKnex {
  let paused: { readonly statement: RegExp; wait(): Promise<void> } | undefined;
  const host = watchedKnex(
    client,
    address,
    (sql) => (paused?.statement.test(sql) ? paused.wait() : undefined),
    setting,
  );
  return {
    host,
    pause(statement) {
      const reached = Promise.withResolvers<void>();
      const resumed = Promise.withResolvers<void>();
      paused = {
        statement,
        async wait() {
          paused = undefined;
          reached.resolve();
          return resumed.promise;
        },
      };
      return { reached: reached.promise, resume: resumed.resolve };
    },
  };
}

/** The answer, where the driver gives a promise. What mysql2 returns has a method `then` that throws. */
function sentBy(send: Send, statement: Statement, rest: readonly unknown[]): unknown {
  const answer = send(statement, ...rest);
  return answer instanceof Promise ? answer : undefined;
}

/** Without the time limit that each statement has on MariaDB. */
function textOf(statement: Statement): string {
  if (typeof statement === 'string') return statement;
  const text = 'text' in statement ? statement.text : statement.sql;
  return text.replace(/^set statement max_statement_time=\S+ for /, '');
}
