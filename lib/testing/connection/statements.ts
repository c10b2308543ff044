import { errorKind } from '../../database/error-kinds.ts';
import { StorageError } from '../../errors.ts';
import { atOnce, countRows, INSERT, TABLE } from './under-test.ts';
import type { ConnectionTest } from './under-test.ts';

export function statementContract(test: ConnectionTest): void {
  test('query: any text, null and large integers come back as they were bound', async (t, { database }) => {
    const notes = ["O'Neill", '? $1 \\ \\\' "', ' blank ', '☃ 🏫 ä', '', 'x'.repeat(100_000), null];
    for (const [index, note] of notes.entries()) await database.run(INSERT, [`${index}`, note, index]);
    const rows = await database.all<{ note: string | null }>(`select note from ${TABLE} order by n`);
    t.deepEqual(
      rows.map(({ note }) => note),
      notes,
    );
    await database.run(`update ${TABLE} set n = ? where id = ?`, [Number.MAX_SAFE_INTEGER, '0']);
    const row = await database.get<{ n: unknown }>(`select n from ${TABLE} where id = ?`, ['0']);
    t.is(Number(row?.n), Number.MAX_SAFE_INTEGER);
    t.is(await database.get(`select n from ${TABLE} where id = ?`, ['none']), undefined);
  });

  test('query: counts the rows that a statement inserts, matches or deletes', async (t, { database }) => {
    t.is(await database.run(`${INSERT}, (?, ?, ?)`, ['a', '', 1, 'b', '', 2]), 2);
    t.is(await database.run(`update ${TABLE} set n = n`), 2, 'rows that stay as they are count too');
    t.is(await database.run(`update ${TABLE} set n = 3 where id = ?`, ['a']), 1);
    t.is(await database.run(`update ${TABLE} set n = 3 where id = ?`, ['none']), 0);
    t.is(await database.run(`delete from ${TABLE} where n > 0`), 2);
    t.is(await database.run(`delete from ${TABLE} where n > 0`), 0);
  });

  test('query: errors are recognized by their code', async (t, { database }) => {
    t.true(await database.insertUnlessStored(INSERT, ['a', '', 1]));
    t.false(await database.insertUnlessStored(INSERT, ['a', '', 2]), 'the key is stored');
    for (const [kind, sql, values] of [
      ['duplicate key', INSERT, ['a', '', 2]],
      ['missing table', 'delete from gatehouse_none', []],
      ['missing table', `update ${TABLE} set none = 1`, []],
      ['other', INSERT, ['b', '', null]],
      ['other', 'not SQL', []],
    ] as const) {
      const error = await database.run(sql, values).catch((thrown: unknown) => thrown);
      t.true(error instanceof StorageError, kind);
      t.is(errorKind((error as StorageError).cause), kind, sql);
    }
    t.is(await countRows(database), 1, 'the connection can be used after an error');
  });

  test('connect: a hundred calls at once are all answered', async (t, { database }) => {
    const changes = await atOnce(100, async (n) => database.run(INSERT, [`${n}`, '', n]));
    t.is(changes.filter((changed) => changed === 1).length, 100);
    t.is(await countRows(database), 100);
    const inserted = await atOnce(20, async (n) => database.insertUnlessStored(INSERT, ['x', '', n]));
    t.is(inserted.filter(Boolean).length, 1);
    const row = await database.get<{ n: unknown }>(`select n from ${TABLE} where id = ?`, ['x']);
    t.is(Number(row?.n), inserted.indexOf(true));
  });
}
