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
import { temporaryFile } from './temporary-file.ts';

type File = SqliteConnection & { close(): unknown };
const BetterSqlite3: new (filename: string) => File = createRequire(import.meta.url)('better-sqlite3');

/** A file of notes, what is sent to it but the notes, and another connection to it. */
function notes(
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

const kept = (file: File): unknown[] =>
  file
    .prepare('select text from notes order by text')
    .all<{ text: string }>([])
    .map(({ text }) => text);

test('transactions that come together share a commit, and each gets what it has done', async (t) => {
  const { database, sent, other } = notes(t);
  const written = await Promise.all(['a', 'b', 'c'].map(async (text) => database.transaction(write(text))));
  t.deepEqual(written, ['a', 'b', 'c']);
  t.deepEqual(kept(other), ['a', 'b', 'c']);
  const joined = ['savepoint joined', 'release joined'];
  t.deepEqual(sent, ['begin immediate', ...joined, ...joined, 'commit']);
});

test('so do those that come in one after the other, as requests do', async (t) => {
  const { database, sent } = notes(t);
  const come = async (text: string): Promise<string> => {
    await setImmediate();
    return database.transaction(write(text));
  };
  await Promise.all([come('a'), come('b'), come('c')]);
  t.is(sent.filter((sql) => sql === 'commit').length, 1);
});

test('none is told before all of it can be read elsewhere', async (t) => {
  const { database, other } = notes(t);
  const all = ['a', 'b', 'c'];
  const seen = await Promise.all(
    all.map(async (text) => {
      await database.transaction(write(text));
      return kept(other);
    }),
  );
  t.deepEqual(seen, [all, all, all]);
});

test('one that fails is undone by itself, whether it is the first or joins', async (t) => {
  for (const failing of [0, 1, 2]) {
    const { database, other } = notes(t);
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c'].map(async (text, index) =>
        database.transaction(async (statements) => {
          await write(text)(statements);
          if (index === failing) await write(text)(statements);
        }),
      ),
    );
    const { reason } = outcomes[failing] as PromiseRejectedResult;
    t.like(reason, {
      code: 'ERR_STORAGE',
      message: 'A row with this id already exists. Nothing was changed.',
    });
    t.deepEqual(
      kept(other),
      ['a', 'b', 'c'].filter((_, index) => index !== failing),
    );
  }
});

test('when the commit fails, nobody is told that it was done, and what comes next works', async (t) => {
  const { database, other } = notes(t);
  const outcomes = await Promise.allSettled([
    database.transaction(write('a')),
    database.transaction(write('b', 'nothing that is there')),
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
  t.deepEqual(kept(other), []);
  t.is(await database.transaction(write('d')), 'd');
  t.deepEqual(kept(other), ['d']);
});

test('while somebody else writes, all of them wait together, and no longer than a call may take', async (t) => {
  const { database, sent, other } = notes(t, { timeout: 300 });
  other.exec('begin immediate');
  const triesWhenOver = await Promise.all(
    ['a', 'b', 'c'].map(async (text) => {
      await t.throwsAsync(database.transaction(write(text)), {
        message:
          'The database stayed locked by another connection for 300 ms. Nothing was changed; try again.',
      });
      return sent.length;
    }),
  );
  // The others have what is left of their time when the first gives up. One after the other, each would try for as long.
  const more = Math.max(...triesWhenOver) - Math.min(...triesWhenOver);
  t.true(more <= 12, `${more} tries`);
});

test('when somebody else has written, those who waited go on', async (t) => {
  const { database, sent, other } = notes(t);
  other.exec('begin immediate');
  const waiting = Promise.all(['d', 'e'].map(async (text) => database.transaction(write(text))));
  while (sent.length < 2) await setImmediate();
  other.exec('commit');
  t.deepEqual(await waiting, ['d', 'e']);
  t.deepEqual(kept(other), ['d', 'e']);
});

test('a commit that has to wait is made again, with all who had joined it', async (t) => {
  // Without a log, SQLite cannot write while somebody reads.
  const { database, sent, other } = notes(t, { journal: 'delete' });
  other.exec('begin');
  t.deepEqual(kept(other), []);
  const commits = (): number => sent.filter((sql) => sql === 'commit').length;
  const waiting = Promise.all(['a', 'b', 'c'].map(async (text) => database.transaction(write(text))));
  while (commits() < 1) await setImmediate();
  other.exec('commit');
  t.deepEqual(await waiting, ['a', 'b', 'c']);
  t.deepEqual(kept(other), ['a', 'b', 'c']);
  t.true(commits() > 1);
});

test('any number of them comes to its end', async (t) => {
  const { database, sent, other } = notes(t);
  await Promise.all(Array.from({ length: 200 }, async (_, index) => database.transaction(write(`${index}`))));
  t.is(kept(other).length, 200);
  const commits = sent.filter((sql) => sql === 'commit').length;
  t.true(commits >= 7 && commits < 20, `${commits} commits`);
});

test('closing waits for those that were begun', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  await storage.migrate();
  const adding = ['1', '2', '3'].map(async (userId) =>
    storage.consents.add({
      userId,
      clientId: 'timetable',
      scopes: [],
      hosts: {},
      createdAt: 1,
      updatedAt: 1,
      lastUsedAt: undefined,
    }),
  );
  await storage.close();
  await t.notThrowsAsync(Promise.all(adding));
});
