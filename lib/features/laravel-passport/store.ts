import { DAY } from '../../contracts/duration.ts';
import type { Integer } from '../../database/rows.ts';
import type { Database } from '../../database/database.ts';
import { READER } from './identifiers.ts';
import { PASSPORT_USE_KEPT } from './types.ts';
import type { PassportStore, PassportUse } from './types.ts';

const TABLE = 'gatehouse_passport_uses';
const MARKS = 'gatehouse_passport_marks';

/** The tokens of Passport that were used within a week, each with a row that expires a week after its latest use, and the marks. */
export function passportStore(database: Database): PassportStore {
  const record = `
    insert into ${TABLE} (id, client_id, kind, expires_at) values (?, ?, ?, ?)
    ${database.dialect.onConflict({ table: TABLE, key: ['id'], greatest: ['expires_at'] })}`;
  const mark = `
    insert into ${MARKS} (id, expires_at) values (?, ?)
    ${database.dialect.onConflict({ table: MARKS, key: ['id'], greatest: ['expires_at'] })}`;

  return {
    async record(uses) {
      // In one order, so that two nodes with the same tokens wait for each other instead of for a deadlock.
      const sorted = uses.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      await database.transaction(async (statements) => {
        for (const { at, clientId, id, kind } of sorted)
          await statements.run(record, [id, clientId, kind, at + PASSPORT_USE_KEPT]);
      });
    },
    async count(at) {
      const rows = await database.all<CountRow>(COUNT, [at + PASSPORT_USE_KEPT - DAY, at]);
      return rows.map(({ client_id: clientId, kind, last_day: lastDay, last_week: lastWeek }) => ({
        clientId,
        kind,
        lastDay: Number(lastDay),
        lastWeek: Number(lastWeek),
      }));
    },
    async mark(id, expiresAt) {
      await database.run(mark, [id, expiresAt]);
    },
    async isMarked(id) {
      return (await database.get(FIND_MARK, [id])) !== undefined;
    },
    async hasEnded({ clientId, mark: id = '', sequence, userId }) {
      return (await database.get(HAS_ENDED, [READER, userId, clientId, userId, sequence, id])) !== undefined;
    },
  };
}

interface CountRow {
  readonly client_id: string;
  readonly kind: PassportUse['kind'];
  readonly last_day: Integer;
  readonly last_week: Integer;
}

const COUNT = `
  select client_id, kind, sum(case when expires_at > ? then 1 else 0 end) as last_day, count(*) as last_week
  from ${TABLE} where expires_at > ? group by client_id, kind`;

const FIND_MARK = `select 1 as found from ${MARKS} where id = ?`;

// One statement, because the reader stores the mark and then removes the end. It is a union, because for conditions joined with `or`
// PostgreSQL may read the whole table.
const HAS_ENDED = `
  select 1 as found from gatehouse_ends where reader = ? and kind = 'connection' and user_id = ? and client_id = ?
  union all select 1 from gatehouse_revocations where kind = 'user' and value = ? and sequence > ?
  union all ${FIND_MARK}`;
