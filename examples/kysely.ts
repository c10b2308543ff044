/**
 * The storage by a database library of your own: here Kysely, on PostgreSQL, without Knex. Written once for a library, and checked by
 * `connectionContract()` of `koa-gatehouse/testing`.
 *
 *     const storage = sqlStorage(kyselyDatabase(new Kysely({ dialect: new PostgresDialect({ pool }) }), 'postgresql'));
 */
import type { SqlConnection, SqlDatabase } from 'koa-gatehouse/adapters/sql';
import { CompiledQuery } from 'kysely';
import type { Kysely } from 'kysely';

/** The database of a Kysely instance, which stays open when the storage is closed. */
export function kyselyDatabase<T>(db: Kysely<T>, dialect: SqlDatabase['dialect']): SqlDatabase {
  return { dialect, connect: async () => lend(db), async close() {} };
}

/** Kysely lends a connection to a function, and takes it back when the function has ended: here, when the connection is released. */
async function lend<T>(db: Kysely<T>): Promise<SqlConnection> {
  const lent = Promise.withResolvers<Kysely<T>>();
  const released = Promise.withResolvers<void>();
  db.connection()
    .execute(async (connection) => {
      lent.resolve(connection);
      await released.promise;
    })
    .catch(lent.reject);
  const connection = await lent.promise;
  let last: Promise<unknown> = Promise.resolve();

  // Kysely cannot close one connection. One that may still have a statement or a transaction is taken back only afterwards.
  async function releaseWhenIdle(): Promise<void> {
    await last.catch(() => {});
    await connection.executeQuery(CompiledQuery.raw('rollback')).catch(() => {});
    released.resolve();
  }

  return {
    native: connection,
    async query(sql, values) {
      const answer = connection.executeQuery<object>(CompiledQuery.raw(sql, [...values]));
      last = answer;
      const { numAffectedRows = 0n, rows } = await answer;
      return { rows, changes: Number(numAffectedRows) };
    },
    release(isBroken) {
      if (isBroken) void releaseWhenIdle();
      else released.resolve();
    },
  };
}
