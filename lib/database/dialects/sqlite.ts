import type { Dialect } from '../dialect.ts';
import { standardSql } from './standard-sql.ts';
import type { Value } from '../statements.ts';

/**
 * SQLite. Its single write lock decides between concurrent callers: `create-database.ts` waits asynchronously and tries again, because
 * drivers block the thread while SQLite waits.
 */
export function sqliteDialect(): Dialect {
  const stable = new Map<string, string>();

  function stabilize(sql: string): string {
    const text = withStablePlan(sql);
    stable.set(sql, text);
    return text;
  }

  return {
    ...standardSql({ greatest: 'max' }),
    name: 'sqlite',
    types: {
      id: 'varchar(255)',
      text: 'text',
      integer: 'integer',
      flag: 'integer',
      counter: 'integer default 0',
      sequence: 'integer primary key autoincrement',
    },
    // SQLite numbers only a primary key.
    keys: (key, sequence) => [`${sequence === undefined ? 'primary key' : 'unique'} (${key})`],
    clock: 'null',
    // A deferred transaction takes the write lock at its first write, which fails when another transaction has written since the first
    // one read.
    begin: 'begin immediate',
    forUpdate: '',
    canChangeInQueries: false,
    returnsUpdatedRows: true,
    addColumn: 'add column',
    enter: ({ query }) => ({
      async get<Row>(sql: string, values: readonly Value[] = []) {
        const { rows } = await query(stable.get(sql) ?? stabilize(sql), values);
        return rows[0] as Row | undefined;
      },
      async all<Row>(sql: string, values: readonly Value[] = []) {
        const { rows } = await query(stable.get(sql) ?? stabilize(sql), values);
        return rows as Row[];
      },
      async run(sql, values = []) {
        const { changes } = await query(stable.get(sql) ?? stabilize(sql), values);
        return changes;
      },
    }),
    async rollback({ query }) {
      // SQLite rolls back by itself when the disk is full or the file cannot be read.
      await query('rollback', []).catch((error: unknown) => {
        if (!/no transaction is active/.test(String(error))) throw error;
      });
    },
  };
}

/**
 * Keeps SQLite from planning a prepared statement again for each bound value. With STAT4, which better-sqlite3 compiles in,
 * SQLite does so for every join whose condition has a bare parameter; this costs five times as much as running the statement.
 * `likely()` returns its argument unchanged.
 */
function withStablePlan(sql: string): string {
  return sql.replaceAll('?', 'likely(?)');
}
