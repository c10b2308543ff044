import { DAY } from '../../contracts/duration.ts';
import { PASSPORT_USE_KEPT } from '../../contracts/passport.ts';
import type { PassportUse, PassportUseStore } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Integer } from '../column-values.ts';

const TABLE = 'gatehouse_passport_uses';

/** The tokens of Passport that were used within a week. Each has a row, which expires a week after its latest use. */
export function passportUseStore(database: Database): PassportUseStore {
  const record = `
    insert into ${TABLE} (id, client_id, kind, expires_at) values (?, ?, ?, ?)
    ${database.dialect.onConflict({ table: TABLE, key: ['id'], greatest: ['expires_at'] })}`;

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
