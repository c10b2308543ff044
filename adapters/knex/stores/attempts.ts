import type { AttemptStore, AttemptWindow, TakenAttempts } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements } from '../statements.ts';
import type { Integer } from './column-values.ts';

/** Counted attempts, such as logins with a wrong password, and counted requests to an API. */
export function attemptStore(database: Database): AttemptStore {
  const { countsConflicts } = database.dialect;
  const count = countsConflicts ? countAtOnce : countInSteps(database);
  const take = countsConflicts ? takeAtOnce : takeInSteps(database);

  return {
    async count(id, window) {
      for (;;) {
        // One conditional write: of concurrent attempts, no more than the limit change the row.
        if (await count(database, id, window)) return undefined;
        const row = await database.get<Row>(FIND, [id]);
        // Without a row, or with an expired one, it was deleted or pruned since the write: try again.
        if (row && Number(row.expires_at) > window.now) return Number(row.expires_at);
      }
    },
    async take(id, { amount, ...window }) {
      let wanted = Math.min(amount, window.limit);
      for (;;) {
        const taken = await take(database, id, { ...window, amount: wanted });
        if (taken) return taken;
        const row = await database.get<Row>(FIND, [id]);
        if (!row || Number(row.expires_at) <= window.now) continue;
        const left = window.limit - Number(row.attempts);
        if (left <= 0) return { taken: 0, left: 0, expiresAt: Number(row.expires_at) };
        wanted = Math.min(wanted, left);
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

interface Row {
  readonly attempts: Integer;
  readonly expires_at: Integer;
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

type Wanted = AttemptWindow & { readonly amount: number };

/** Takes the whole amount, or nothing. */
type Take = (database: Database, id: string, wanted: Wanted) => Promise<TakenAttempts | undefined>;

const takeAtOnce: Take = async (database, id, { amount, limit, now, expiresAt }) => {
  const values = [id, amount, expiresAt, now, now, now, limit];
  // Not `database.get`, which may read from a read-only connection.
  const row = await database.connection(async (statements) => statements.get<Row>(TAKE_AT_ONCE, values));
  return row && { taken: amount, left: limit - Number(row.attempts), expiresAt: Number(row.expires_at) };
};

/**
 * For databases whose inserts neither return the row nor show whether it existed. Each change names the end of the window that
 * was read, because after a change alone it would not be known in which window the attempts were counted.
 */
function takeInSteps({ dialect }: Database): Take {
  const open = `
    insert into gatehouse_attempts (id, attempts, expires_at) values (?, 0, ?)
    ${dialect.onConflict({ table: 'gatehouse_attempts', key: ['id'] })}`;

  return async (database, id, { amount, limit, now, expiresAt }) => {
    const row = await database.get<Row>(FIND, [id]);
    if (!row) await database.run(open, [id, expiresAt]);
    const { attempts, expires_at: end } = row ?? { attempts: 0, expires_at: expiresAt };
    if (Number(end) <= now) {
      const isOpened = (await database.run(REOPEN, [amount, expiresAt, id, Number(end)])) > 0;
      return isOpened ? { taken: amount, left: limit - amount, expiresAt } : undefined;
    }
    const isTaken = (await database.run(TAKE, [amount, id, Number(end), limit - amount])) > 0;
    if (!isTaken) return undefined;
    return { taken: amount, left: Math.max(0, limit - Number(attempts) - amount), expiresAt: Number(end) };
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

const TAKE_AT_ONCE = `
  insert into gatehouse_attempts (id, attempts, expires_at) values (?, ?, ?)
  on conflict (id) do update set
    attempts = case
      when gatehouse_attempts.expires_at <= ? then excluded.attempts
      else gatehouse_attempts.attempts + excluded.attempts
    end,
    expires_at = case
      when gatehouse_attempts.expires_at <= ? then excluded.expires_at else gatehouse_attempts.expires_at
    end
  where gatehouse_attempts.expires_at <= ? or gatehouse_attempts.attempts + excluded.attempts <= ?
  returning attempts, expires_at`;

const REOPEN = 'update gatehouse_attempts set attempts = ?, expires_at = ? where id = ? and expires_at = ?';

const TAKE = `
  update gatehouse_attempts set attempts = attempts + ?
  where id = ? and expires_at = ? and attempts <= ?`;

const FIND = 'select attempts, expires_at from gatehouse_attempts where id = ?';

const GIVE_BACK = 'update gatehouse_attempts set attempts = attempts - 1 where id = ? and attempts > 0';
