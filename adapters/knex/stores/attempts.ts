import type { AttemptStore, AttemptWindow } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements } from '../statements.ts';
import type { Integer } from './column-values.ts';

/** Counted attempts, such as logins with a wrong password. */
export function attemptStore(database: Database): AttemptStore {
  const { countsConflicts } = database.dialect;
  const count = countsConflicts ? countAtOnce : countInSteps(database);

  return {
    async count(id, window) {
      for (;;) {
        // One conditional write: of concurrent attempts, no more than the limit change the row.
        if (await count(database, id, window)) return undefined;
        const row = await database.get<{ expires_at: Integer }>(FIND, [id]);
        // Without a row, or with an expired one, it was deleted or pruned since the write: try again.
        if (row && Number(row.expires_at) > window.now) return Number(row.expires_at);
      }
    },
    async giveBack(id) {
      await database.run(GIVE_BACK, [id]);
    },
    async forget(id) {
      await database.run('delete from gatehouse_attempts where id = ?', [id]);
    },
  };
}

type Count = (statements: Statements, id: string, window: AttemptWindow) => Promise<boolean>;

const countAtOnce: Count = async (statements, id, { limit, now, expiresAt }) =>
  (await statements.run(COUNT_AT_ONCE, [id, expiresAt, now, now, now, limit])) > 0;

/** For databases on which the row count of an insert does not show whether the existing row was changed. */
function countInSteps({ dialect }: Database): Count {
  const open = `
    insert into gatehouse_attempts (id, attempts, expires_at) values (?, 0, ?)
    ${dialect.onConflict({ table: 'gatehouse_attempts', key: ['id'] })}`;

  return async (statements, id, { limit, now, expiresAt }) => {
    const values = [now, now, expiresAt, id, now, limit];
    if ((await statements.run(COUNT, values)) > 0) return true;
    await statements.run(open, [id, expiresAt]);
    return (await statements.run(COUNT, values)) > 0;
  };
}

const COUNT_AT_ONCE = `
  insert into gatehouse_attempts (id, attempts, expires_at) values (?, 1, ?)
  on conflict (id) do update set
    attempts = case when gatehouse_attempts.expires_at <= ? then 1 else gatehouse_attempts.attempts + 1 end,
    expires_at = case
      when gatehouse_attempts.expires_at <= ? then excluded.expires_at else gatehouse_attempts.expires_at
    end
  where gatehouse_attempts.expires_at <= ? or gatehouse_attempts.attempts < ?`;

// In this order, because in MySQL and MariaDB an assignment sees the results of those before it.
const COUNT = `
  update gatehouse_attempts set
    attempts = case when expires_at <= ? then 1 else attempts + 1 end,
    expires_at = case when expires_at <= ? then ? else expires_at end
  where id = ? and (expires_at <= ? or attempts < ?)`;

const FIND = 'select expires_at from gatehouse_attempts where id = ?';

const GIVE_BACK = 'update gatehouse_attempts set attempts = attempts - 1 where id = ? and attempts > 0';
