import { postgresqlChangeFeed } from '../../database/changes.ts';
import { statementsIn, transact } from '../../database/transact.ts';
import { countRows, INSERT, TABLE } from './under-test.ts';
import type { ConnectionTest, DatabaseUnderTest } from './under-test.ts';

/** What holds when something takes too long, and what the optional members of a connection add. */
export function limitContract(test: ConnectionTest): void {
  test('a call that waits for a lock for too long says that nothing was changed, and changes nothing later', async (t, under) => {
    const { database } = under;
    await database.run(INSERT, ['a', '', 0]);
    const locked = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const holding = transact(database, async (transaction) => {
      await statementsIn(transaction).run(`update ${TABLE} set n = n + 1 where id = 'a'`);
      locked.resolve();
      await ended.promise;
    });
    await locked.promise;
    const startedAt = performance.now();
    const waiting = database.transaction(
      async ({ run }) => run(`update ${TABLE} set n = n + 10 where id = 'a'`),
      300,
    );
    await t.throwsAsync(waiting, { code: 'ERR_STORAGE' });
    t.true(performance.now() - startedAt < 10_000, 'within the time limit and what a server needs to stop');
    ended.resolve();
    await holding;
    if (!(await canStop(under))) return;
    // It would get the lock now.
    await database.run(`update ${TABLE} set n = n + 100 where id = 'a'`);
    const row = await database.get<{ n: unknown }>(`select n from ${TABLE}`);
    t.is(Number(row?.n), 101);
  });

  test('release: what was not committed on a broken connection is gone, and another one takes its place', async (t, under) => {
    const { database, source } = under;
    if (source.dialect === 'sqlite') {
      t.is(await countRows(database), 0, 'the only connection is kept');
      return;
    }
    const connection = await source.connect();
    const { run } = database.dialect.enter(connection, 5000);
    await run(database.dialect.begin);
    await run(INSERT, ['a', '', 1]);
    await connection.release(true);
    t.is(await database.run(INSERT, ['a', '', 2]), 1, 'it waits for no lock of that transaction');
    t.is(await countRows(database), 1);
  });

  test('listen: where there is LISTEN, a message arrives on another connection', async (t, {
    database,
    source,
  }) => {
    t.true(source.listen === undefined || source.dialect === 'postgresql', 'only PostgreSQL has messages');
    if (!source.listen) return;
    const feed = postgresqlChangeFeed(database, source.listen);
    const received = Promise.withResolvers<unknown>();
    await feed.subscribe((changes) => received.resolve(changes));
    const timer = setInterval(() => void feed.publish([{ clientId: 'contract' }]), 50);
    try {
      t.deepEqual(await received.promise, [{ clientId: 'contract' }]);
    } finally {
      clearInterval(timer);
      feed.close();
    }
  });
}

/** Whether a statement that waits at the server can be stopped: by the connection, or by a time limit that all statements have. */
async function canStop({ database, source }: DatabaseUnderTest): Promise<boolean> {
  if (source.dialect === 'sqlite') return true;
  const connection = await source.connect();
  try {
    return (
      connection.cancel !== undefined || (await database.dialect.hasCompoundStatements?.(connection)) === true
    );
  } finally {
    await connection.release(false);
  }
}
