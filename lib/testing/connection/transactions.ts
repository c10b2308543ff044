import { setImmediate as nextTurn } from 'node:timers/promises';

import { statementsIn, transact } from '../../database/transact.ts';
import type { Step } from '../../database/statements.ts';
import { atOnce, countRows, INSERT, TABLE } from './under-test.ts';
import type { ConnectionTest } from './under-test.ts';

export function transactionContract(test: ConnectionTest): void {
  test('a transaction whose work throws leaves nothing', async (t, { database }) => {
    for (const failure of [new Error('mine'), undefined]) {
      const failed = database.transaction(async ({ run }) => {
        await run(INSERT, ['a', '', 1]);
        if (failure) throw failure;
        await run(INSERT, ['a', '', 1]);
      });
      t.true(
        await failed.then(
          () => false,
          () => true,
        ),
      );
      t.is(await countRows(database), 0);
    }
    t.is(await database.run(INSERT, ['a', '', 1]), 1);
  });

  test('what a transaction has not committed is seen by nobody else', async (t, { database }) => {
    const seen: number[] = [];
    const progress = { isOver: false };
    async function watch(): Promise<void> {
      do {
        seen.push(await countRows(database));
        await nextTurn();
      } while (!progress.isOver);
    }
    const watching = [watch(), watch()];
    await atOnce(10, async (n) =>
      database
        .transaction(async ({ run }) => {
          await run(INSERT, [`${n}`, '', n]);
          await run(`update ${TABLE} set n = n + 1 where id = ?`, [`${n}`]);
          throw new Error('rolled back');
        })
        .catch(() => {}),
    );
    progress.isOver = true;
    await Promise.all(watching);
    t.deepEqual([...new Set(seen)], [0]);
  });

  test('transactions at once that lock a row change it one after the other', async (t, { database }) => {
    await database.run(INSERT, ['a', '', 0]);
    const { forUpdate } = database.dialect;
    await atOnce(20, async () =>
      database.transaction(async ({ get, run }) => {
        const row = await get<{ n: unknown }>(`select n from ${TABLE} where id = 'a'${forUpdate}`);
        await run(`update ${TABLE} set n = ? where id = 'a'`, [Number(row!.n) + 1]);
      }),
    );
    const row = await database.get<{ n: unknown }>(`select n from ${TABLE}`);
    t.is(Number(row?.n), 20);
  });

  test('steps in turn are all run, or none of them', async (t, { database }) => {
    const change = { sql: `update ${TABLE} set n = n + 1 where id = ?`, needs: 'change' } as const;
    t.deepEqual(await database.runSteps([insert('a'), { ...change, values: ['a'] }]), {});
    t.is(await database.runSteps([insert('b'), { ...change, values: ['none'] }, insert('c')]), undefined);
    t.deepEqual(await database.all(`select id from ${TABLE}`), [{ id: 'a' }]);
    const find = { sql: `select id from ${TABLE} where id = ?`, values: ['a'], needs: 'row' } as const;
    t.deepEqual(await database.runSteps([insert('d'), find]), { id: 'a' });
  });
}

export function hostContract(test: ConnectionTest): void {
  test('transaction of the host: is committed when its work is done, and rolled back when it throws', async (t, under) => {
    const { database } = under;
    let given: unknown;
    const result = await transact(database, async (transaction) => {
      given = transaction;
      await statementsIn(transaction).run(INSERT, ['a', '', 1]);
      return 'done';
    });
    t.is(result, 'done');
    t.is(await countRows(database), 1);
    await t.throwsAsync((async () => statementsIn(given))(), { code: 'ERR_STORAGE' });

    const thrown = Object.assign(new Error('mine'), { code: 'MINE' });
    const failed = transact(database, async (transaction) => {
      await statementsIn(transaction).run(INSERT, ['b', '', 1]);
      throw thrown;
    });
    t.is(await failed.catch((error: unknown) => error), thrown);
    t.is(await countRows(database), 1);
  });

  test('transaction of the host: a success is what was stored, also after an error that its work has caught', async (t, under) => {
    const { database } = under;
    const outcome = await transact(database, async (transaction) => {
      const { run } = statementsIn(transaction);
      await run(INSERT, ['a', '', 1]);
      await run(INSERT, ['a', '', 2]).catch(() => {});
    }).then(
      () => 1,
      () => 0,
    );
    t.is(await countRows(database), outcome);
    t.is(await database.run(INSERT, ['b', '', 1]), 1, 'the connection can be used');
  });

  test('transaction of the host: ten at once and other calls at the same time all succeed', async (t, under) => {
    const { database } = under;
    await atOnce(10, async (n) =>
      Promise.all([
        transact(database, async (transaction) =>
          statementsIn(transaction).run(INSERT, [`host ${n}`, '', n]),
        ),
        database.run(INSERT, [`${n}`, '', n]),
        countRows(database),
      ]),
    );
    t.is(await countRows(database), 20);
  });
}

function insert(id: string): Step {
  return { sql: INSERT, values: [id, '', 1] };
}
