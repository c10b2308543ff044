import { setImmediate } from 'node:timers/promises';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aSecret, aSession } from '../storage/rows.ts';
import { connectHost } from './host-knex.ts';
import { temporaryFile } from './temporary-file.ts';

interface Opened {
  readonly storage: Storage;
  /** The statements that were sent, but for the inserts. */
  readonly sent: string[];
  /** Another connection to the file. */
  readonly other: Knex;
  /** Makes the next commits fail. */
  fail(this: void, error: Error | undefined): void;
}

/** A storage on a file with a connection of its own. */
async function openFile(t: ExecutionContext, { journal = 'wal', timeout = 60_000 } = {}): Promise<Opened> {
  const filename = temporaryFile();
  const sent: string[] = [];
  let failure: Error | undefined;
  const storage = knexStorage(
    {
      client: 'better-sqlite3',
      connection: { filename },
      pool: {
        afterCreate(file: Connection, done: () => void) {
          file.pragma(`journal_mode = ${journal}`);
          const prepare = file.prepare.bind(file);
          file.prepare = (sql) => {
            const statement = prepare(sql);
            const run = statement.run.bind(statement);
            statement.run = (values) => {
              if (!sql.startsWith('insert')) sent.push(sql);
              if (sql === 'commit' && failure) throw failure;
              return run(values);
            };
            return statement;
          };
          done();
        },
      },
    },
    { timeout: `${timeout} ms` },
  );
  await storage.migrate();
  sent.length = 0;
  const other = connectHost('better-sqlite3', `sqlite:${filename}`);
  t.teardown(async () => {
    await other.destroy();
    await storage.close();
  });
  return { storage, sent, other, fail: (error) => (failure = error) };
}

interface Connection {
  pragma(source: string): unknown;
  prepare(sql: string): { run(values: unknown): unknown };
}

async function write({ sessions }: Storage, id: string): Promise<string> {
  await sessions.insert(aSession({ id, uid: id }));
  return id;
}

const idsIn = async (other: Knex): Promise<string[]> => other('gatehouse_sessions').pluck('id').orderBy('id');

const commitsIn = (sent: readonly string[]): number => sent.filter((sql) => sql === 'commit').length;

test('concurrent changes share commits, and each resolves when other connections can see it', async (t) => {
  const { storage, sent, other } = await openFile(t);
  const all = ['a', 'b', 'c'];
  const seen = await Promise.all(
    all.map(async (id) => {
      // One after the other, while a group is open.
      await setImmediate();
      await write(storage, id);
      return idsIn(other);
    }),
  );
  t.deepEqual(seen, [all, all, all]);
  t.is(commitsIn(sent), 1);
  await Promise.all(Array.from({ length: 200 }, async (_, index) => write(storage, `${index}`)));
  t.is((await idsIn(other)).length, 203);
  // A group is limited, because reads wait for it.
  t.true(commitsIn(sent) >= 8 && commitsIn(sent) < 20, `${commitsIn(sent)} commits`);
});

test('a change that fails is rolled back alone, as the first of a group or a later one', async (t) => {
  for (const failing of [0, 1, 2]) {
    const { storage, other } = await openFile(t);
    // A client and its secrets are one transaction, whose last statement fails.
    const ids = ['x', 'y', 'z'];
    const outcomes = await Promise.allSettled(
      ids.map(async (id, index) =>
        storage.clients.insert(aClient({ id }), index === failing ? [aSecret(), aSecret()] : []),
      ),
    );
    t.like(outcomes[failing], {
      status: 'rejected',
      reason: { code: 'ERR_STORAGE', message: 'A row with this id already exists. Nothing was changed.' },
    });
    t.deepEqual(
      await other('gatehouse_clients').pluck('id').orderBy('id'),
      ids.filter((_, index) => index !== failing),
    );
  }
});

test('if the commit fails, all changes of the group reject, and the next one works', async (t) => {
  const { storage, other, fail } = await openFile(t);
  fail(Object.assign(new Error('broken'), { code: 'SQLITE_IOERR' }));
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(async (id) => write(storage, id)));
  for (const outcome of outcomes) {
    t.like(outcome, {
      status: 'rejected',
      reason: { code: 'ERR_STORAGE', message: 'The database could not be used (SQLITE_IOERR).' },
    });
  }
  fail(undefined);
  await write(storage, 'd');
  t.deepEqual(await idsIn(other), ['d']);
});

test('while another connection holds the write lock, a group waits together, for at most the timeout', async (t) => {
  const { storage, sent, other } = await openFile(t, { timeout: 1000 });
  await other.raw('begin immediate');
  const triesWhenOver = await Promise.all(
    ['a', 'b', 'c'].map(async (id) => {
      await t.throwsAsync(write(storage, id), { message: /stayed locked .* for 1000 ms/ });
      return sent.length;
    }),
  );
  // When the first gives up, the timeout of the others is over too. One after the other, each would wait as long.
  const more = Math.max(...triesWhenOver) - Math.min(...triesWhenOver);
  t.true(more <= 12, `${more} tries`);
  const tried = sent.length;
  const waiting = Promise.all(['d', 'e'].map(async (id) => write(storage, id)));
  while (sent.length < tried + 2) await setImmediate();
  await other.raw('commit');
  await waiting;
  t.deepEqual(await idsIn(other), ['d', 'e']);
});

test('a commit that has to wait is sent again, with all changes of the group', async (t) => {
  // In rollback-journal mode, SQLite cannot write while another connection reads.
  const { storage, sent, other } = await openFile(t, { journal: 'delete' });
  await other.raw('begin');
  t.deepEqual(await idsIn(other), []);
  const all = ['a', 'b', 'c'];
  const waiting = Promise.all(all.map(async (id) => write(storage, id)));
  while (commitsIn(sent) < 1) await setImmediate();
  await other.raw('commit');
  t.deepEqual(await waiting, all);
  t.deepEqual(await idsIn(other), all);
  t.true(commitsIn(sent) > 1);
});

test('close() waits for changes that have begun', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  await storage.migrate();
  const writing = ['1', '2', '3'].map(async (id) => write(storage, id));
  await storage.close();
  await t.notThrowsAsync(Promise.all(writing));
});
