import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { countedKnex } from './counted-knex.ts';
import { fileWithTables } from './file-with-tables.ts';

test('the end of a user, a client or all is three statements on SQLite, whatever it ends', async (t) => {
  let count = 0;
  const host = countedKnex('better-sqlite3', `sqlite:${await fileWithTables()}`, (sql) => {
    if (sql.includes('gatehouse_')) count += 1;
  });
  t.teardown(async () => host.destroy());
  const { ends, revocations } = knexStorage(host);
  await ends.read('a', ['user', 'client', 'all'], Number.MAX_SAFE_INTEGER);
  for (const party of [{ userId: 'ann' }, { clientId: 'timetable' }, { all: true }] as const) {
    count = 0;
    await revocations.revokeAllOf(party);
    t.is(count, 3, Object.keys(party)[0]);
  }
  const later = { now: Number.MAX_SAFE_INTEGER - 1, leasedUntil: Number.MAX_SAFE_INTEGER, limit: 9 };
  t.is((await ends.take('a', later)).length, 3);
});
