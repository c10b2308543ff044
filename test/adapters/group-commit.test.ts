import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { createDatabase } from '../../adapters/knex/database.ts';
import type { Database } from '../../adapters/knex/database.ts';
import { sqliteDialect } from '../../adapters/knex/dialects/sqlite.ts';
import type { SqliteConnection } from '../../adapters/knex/dialects/sqlite.ts';
import { SoleConnection } from '../../adapters/knex/sole-connection.ts';
import type { Statements } from '../../adapters/knex/statements.ts';
import { aConsent } from '../../lib/testing/storage/rows.ts';
import { temporaryFile } from './temporary-file.ts';

type File = SqliteConnection & { close(): unknown };
const BetterSqlite3: new (filename: string) => File = createRequire(import.meta.url)('better-sqlite3');

/** A database with one table, the statements sent to it but the inserts, and a second connection. */
function openTable(
  t: ExecutionContext,
  { journal = 'wal', timeout = 60_000 } = {},
): { database: Database; sent: string[]; other: File } {
  const filename = temporaryFile();
  const [own, other] = [new BetterSqlite3(filename), new BetterSqlite3(filename)];
  t.teardown(() => [own, other].map((file) => file.close()));
  own.exec(`
    pragma journal_mode = ${journal};
    pragma busy_timeout = 0;
    pragma foreign_keys = on;
    create table notes (text text primary key, about text references notes deferrable initially deferred)`);
  const sent: string[] = [];
  const dialect = sqliteDialect();
  const pool = new SoleConnection({
    acquireConnection: async () => own,
    async releaseConnection() {},
  });
  const database = createDatabase(
    pool,
    {
      ...dialect,
      enter(connection: File) {
        const statements = dialect.enter(connection);
        return {
          ...statements,
          async run(sql, values) {
            if (!sql.startsWith('insert')) sent.push(sql);
            return statements.run(sql, values);
          },
        };
      },
    },
    timeout,
  );
  return { database, sent, other };
}

const write =
  (text: string, about: string | null = null) =>
  async (statements: Statements): Promise<string> => {
    await statements.run('insert into notes (text, about) values (?, ?)', [text, about]);
    return text;
  };

const rowsOf = (file: File): unknown[] =>
  file
    .prepare('select text from notes order by text')
    .all<{ text: string }>([])
    .map(({ text }) => text);

const commitsIn = (sent: readonly string[]): number => sent.filter((sql) => sql === 'commit').length;

test('concurrent transactions share commits, and each resolves to its own result when others can see it', async (t) => {
  const { database, sent, other } = openTable(t);
  const all = ['a', 'b', 'c'];
  const seen = await Promise.all(
    all.map(async (text) => {
      // One after the other, while a group is open.
      await setImmediate();
      t.is(await database.transaction(write(text)), text);
      return rowsOf(other);
    }),
  );
  t.deepEqual(seen, [all, all, all]);
  t.is(commitsIn(sent), 1);
  await Promise.all(Array.from({ length: 200 }, async (_, index) => database.transaction(write(`${index}`))));
  t.is(rowsOf(other).length, 203);
  // A group is limited, because reads wait for it.
  t.true(commitsIn(sent) >= 8 && commitsIn(sent) < 20, `${commitsIn(sent)} commits`);
});

test('a transaction that fails is rolled back alone, as the first of a group or a later one', async (t) => {
  for (const failing of [0, 1, 2]) {
    const { database, other } = openTable(t);
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c'].map(async (text, index) =>
        database.transaction(async (statements) => {
          await write(text)(statements);
          if (index === failing) await write(text)(statements);
        }),
      ),
    );
    t.like((outcomes[failing] as PromiseRejectedResult).reason, {
      code: 'ERR_STORAGE',
      message: 'A row with this id already exists. Nothing was changed.',
    });
    t.deepEqual(
      rowsOf(other),
      ['a', 'b', 'c'].filter((_, index) => index !== failing),
    );
  }
});

test('if the commit fails, all transactions of the group reject, and the next one works', async (t) => {
  const { database, other } = openTable(t);
  const outcomes = await Promise.allSettled([
    database.transaction(write('a')),
    database.transaction(write('b', 'a missing row')),
    database.transaction(write('c')),
  ]);
  for (const outcome of outcomes) {
    t.like(outcome, {
      status: 'rejected',
      reason: {
        code: 'ERR_STORAGE',
        message: 'The database could not be used (SQLITE_CONSTRAINT_FOREIGNKEY).',
      },
    });
  }
  t.is(await database.transaction(write('d')), 'd');
  t.deepEqual(rowsOf(other), ['d']);
});

test('while another connection holds the write lock, a group waits together, for at most the timeout', async (t) => {
  const { database, sent, other } = openTable(t, { timeout: 300 });
  other.exec('begin immediate');
  const triesWhenOver = await Promise.all(
    ['a', 'b', 'c'].map(async (text) => {
      await t.throwsAsync(database.transaction(write(text)), { message: /stayed locked .* for 300 ms/ });
      return sent.length;
    }),
  );
  // When the first gives up, the timeout of the others is over too. One after the other, each would wait as long.
  const more = Math.max(...triesWhenOver) - Math.min(...triesWhenOver);
  t.true(more <= 12, `${more} tries`);
  const waiting = Promise.all(['d', 'e'].map(async (text) => database.transaction(write(text))));
  other.exec('commit');
  t.deepEqual(await waiting, ['d', 'e']);
});

test('a commit that has to wait is sent again, with all transactions of the group', async (t) => {
  // In rollback-journal mode, SQLite cannot write while another connection reads.
  const { database, sent, other } = openTable(t, { journal: 'delete' });
  other.exec('begin');
  t.deepEqual(rowsOf(other), []);
  const waiting = Promise.all(['a', 'b', 'c'].map(async (text) => database.transaction(write(text))));
  while (commitsIn(sent) < 1) await setImmediate();
  other.exec('commit');
  t.deepEqual(await waiting, ['a', 'b', 'c']);
  t.deepEqual(rowsOf(other), ['a', 'b', 'c']);
  t.true(commitsIn(sent) > 1);
});

test('close() waits for transactions that have begun', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  await storage.migrate();
  const adding = ['1', '2', '3'].map(async (userId) => storage.consents.add(aConsent({ userId })));
  await storage.close();
  await t.notThrowsAsync(Promise.all(adding));
});
