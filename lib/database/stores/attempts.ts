import type {
  AttemptCounter,
  AttemptStore,
  AttemptWindow,
  CountedAttempt,
  ReservedAttempts,
  Seconds,
} from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements, Value } from '../statements.ts';
import type { Integer } from '../rows.ts';
import { SEQUENCE } from './revocations.ts';

/** Counted attempts, such as logins with a wrong password, and counted requests to an API. */
export function attemptStore(database: Database): AttemptStore {
  const { countsConflicts } = database.dialect;
  const count = countsConflicts ? countAtOnce : countInTurn;
  const reserve = countsConflicts ? reserveAtOnce : reserveInSteps(database);
  const release = countsConflicts ? releaseAtOnce : releaseInPlace;

  return {
    async count(given, window) {
      // In one order, so that two attempts with the same counters wait for each other instead of for a deadlock.
      const counters = given.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      for (;;) {
        const counted = await count(database, counters, window);
        if (counted) return counted;
        const rows = await database.all<AttemptRow>(findAll(given.length), idsOf(given));
        const full = fullCounter(given, rows, window.now);
        if (full) return { full };
        // Since the write, the full counter was given back or pruned, or its window has ended: try again.
      }
    },
    async reserve({ id, limit }, { amount, ...window }) {
      let wanted = Math.min(amount, limit);
      for (;;) {
        const reserved = await reserve(database, id, { ...window, limit, amount: wanted });
        if (reserved) return reserved;
        const row = await database.get<AttemptRow>(FIND, [id]);
        if (!row || Number(row.expires_at) <= window.now) continue;
        const left = limit - Number(row.attempts);
        if (left <= 0) return { reserved: 0, left: 0, expiresAt: Number(row.expires_at) };
        wanted = Math.min(wanted, left);
      }
    },
    async release(ids, reset = []) {
      await release(database, ids, reset);
    },
  };
}

interface AttemptRow {
  readonly id: string;
  readonly attempts: Integer;
  readonly expires_at: Integer;
}

/** The first of the counters whose limit is reached. */
function fullCounter(
  counters: readonly AttemptCounter[],
  rows: readonly AttemptRow[],
  now: Seconds,
): { id: string; expiresAt: Seconds } | undefined {
  for (const { id, limit } of counters) {
    const row = rows.find((found) => found.id === id);
    if (row && Number(row.expires_at) > now && Number(row.attempts) >= limit)
      return { id, expiresAt: Number(row.expires_at) };
  }
  return undefined;
}

/** Counts an attempt in all of the counters, or in none. */
type AttemptCount = (
  database: Database,
  counters: readonly AttemptCounter[],
  window: AttemptWindow,
) => Promise<CountedAttempt | undefined>;

/** One conditional write: of concurrent attempts, no more than the limit change a row. */
const countAtOnce: AttemptCount = async (database, counters, { now, expiresAt }) => {
  const limits = counters.flatMap(({ id, limit }): Value[] => [id, limit]);
  const values = [...limits, expiresAt, now, now, now, now, ...limits];
  const rows = await database.returning<{ id: string; sequence: Integer }>(countAll(counters.length), values);
  if (rows.length === counters.length) return { full: undefined, sequence: Number(rows[0]!.sequence) };
  // On PostgreSQL, another attempt has filled a counter since this statement began, but others were counted.
  if (rows.length > 0) await releaseAtOnce(database, idsOf(rows));
  return undefined;
};

/** For databases on which the result of an insert does not show whether the existing row was changed. */
const countInTurn: AttemptCount = async (database, counters, { now, expiresAt }) => {
  const places = counters.map(() => '(?, 1, ?)').join(', ');
  const isWithin = counters.map(() => `and (select attempts from gatehouse_attempts where id = ?) <= ?`);
  const row = await database.runSteps<{ sequence: Integer }>([
    {
      sql: `insert into gatehouse_attempts (id, attempts, expires_at) values ${places} ${ADD}`,
      values: [...counters.flatMap(({ id }) => [id, expiresAt]), now, now],
    },
    // The rows are locked until the transaction ends, so nobody has seen the attempts that are too many.
    {
      sql: `${SEQUENCE} ${isWithin.join(' ')}`,
      values: counters.flatMap(({ id, limit }) => [id, limit]),
      needs: 'row',
    },
  ]);
  return row && { full: undefined, sequence: Number(row.sequence) };
};

/** Uncounts one attempt in each of the counters `ids`, and all in those of `reset`. */
type Release = (
  statements: Pick<Statements, 'run'>,
  ids: readonly string[],
  reset?: readonly string[],
) => Promise<void>;

/**
 * Changes the rows in the order in which attempts lock them, and finds each by its key: for a list of ids PostgreSQL may read the whole
 * table.
 */
const releaseAtOnce: Release = async (statements, ids, reset = []) => {
  const amounts = new Map([...ids.map((id) => [id, 1] as const), ...reset.map((id) => [id, ALL] as const)]);
  const given = [...amounts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  await statements.run(releaseAll(given.length), [...given.flat(), ALL]);
};

/** For databases on which an insert of an existing row takes more locks. */
const releaseInPlace: Release = async (statements, ids, reset = []) => {
  const all = [...ids, ...reset];
  const isReset = reset.length === 0 ? '1 = 0' : `id in (${placesOf(reset)})`;
  // A window that has ended: the next attempt opens another.
  await statements.run(
    `update gatehouse_attempts set
       attempts = case when ${isReset} then 0 else attempts - 1 end,
       expires_at = case when ${isReset} then 0 else expires_at end
     where id in (${placesOf(all)}) and attempts > 0`,
    [...reset, ...reset, ...all],
  );
};

type Wanted = AttemptWindow & { readonly amount: number; readonly limit: number };

/** Reserves the whole amount, or nothing. */
type Reserve = (database: Database, id: string, wanted: Wanted) => Promise<ReservedAttempts | undefined>;

const reserveAtOnce: Reserve = async (database, id, { amount, limit, now, expiresAt }) => {
  const values = [id, amount, expiresAt, now, now, now, limit];
  const [row] = await database.returning<AttemptRow>(RESERVE_AT_ONCE, values);
  return row && { reserved: amount, left: limit - Number(row.attempts), expiresAt: Number(row.expires_at) };
};

/**
 * For databases whose inserts neither return the row nor show whether it existed. Each change names the end of the window that was read,
 * because otherwise it would not be known in which window the attempts were counted.
 */
function reserveInSteps({ dialect }: Database): Reserve {
  const open = `
    insert into gatehouse_attempts (id, attempts, expires_at) values (?, 0, ?)
    ${dialect.onConflict({ table: 'gatehouse_attempts', key: ['id'] })}`;

  return async (database, id, { amount, limit, now, expiresAt }) => {
    const row = await database.get<AttemptRow>(FIND, [id]);
    if (!row) await database.run(open, [id, expiresAt]);
    const { attempts, expires_at: end } = row ?? { attempts: 0, expires_at: expiresAt };
    if (Number(end) <= now) {
      const isOpened = (await database.run(REOPEN, [amount, expiresAt, id, Number(end)])) > 0;
      return isOpened ? { reserved: amount, left: limit - amount, expiresAt } : undefined;
    }
    const isReserved = (await database.run(RESERVE, [amount, id, Number(end), limit - amount])) > 0;
    if (!isReserved) return undefined;
    return { reserved: amount, left: Math.max(0, limit - Number(attempts) - amount), expiresAt: Number(end) };
  };
}

function idsOf(counters: readonly { readonly id: string }[]): string[] {
  return counters.map(({ id }) => id);
}

function placesOf(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

// The text of a statement for each number of counters, of which there are few.
const countStatements: string[] = [];

function countAll(counters: number): string {
  const wanted = Array.from({ length: counters }, () => 'select ? as id, cast(? as bigint) as most');
  const limits = Array.from({ length: counters }, () => 'when ? then cast(? as bigint)').join(' ');
  return (countStatements[counters] ??= `
    with wanted as (${wanted.join(' union all ')})
    insert into gatehouse_attempts (id, attempts, expires_at)
    select id, 1, cast(? as bigint) from wanted
    where not exists (
      select 1 from wanted
      where most <= (select a.attempts from gatehouse_attempts a where a.id = wanted.id and a.expires_at > ?)
    )
    on conflict (id) do update set
      attempts = case when gatehouse_attempts.expires_at <= ? then 1 else gatehouse_attempts.attempts + 1 end,
      expires_at = case
        when gatehouse_attempts.expires_at <= ? then excluded.expires_at else gatehouse_attempts.expires_at
      end
    where gatehouse_attempts.expires_at <= ? or gatehouse_attempts.attempts < case excluded.id ${limits} end
    returning id, (${SEQUENCE}) as sequence`);
}

// More than any limit.
const ALL = Number.MAX_SAFE_INTEGER;

const releaseStatements: string[] = [];

// A window that has ended: the next attempt opens another.
function releaseAll(counters: number): string {
  const given = Array.from({ length: counters }, () => 'select ? as id, cast(? as bigint) as amount');
  return (releaseStatements[counters] ??= `
    with given as (${given.join(' union all ')})
    insert into gatehouse_attempts (id, attempts, expires_at)
    select id, amount, 0 from given
    where (select a.attempts from gatehouse_attempts a where a.id = given.id) > 0
    on conflict (id) do update set
      attempts = case
        when gatehouse_attempts.attempts > excluded.attempts then gatehouse_attempts.attempts - excluded.attempts
        else 0
      end,
      expires_at = case when excluded.attempts = ? then 0 else gatehouse_attempts.expires_at end`);
}

function findAll(counters: number): string {
  return Array.from({ length: counters }, () => FIND).join(' union all ');
}

// In this order, because in MySQL and MariaDB an assignment sees the results of those before it.
const ADD = `on duplicate key update
  attempts = case when expires_at <= ? then 1 else attempts + 1 end,
  expires_at = case when expires_at <= ? then values(expires_at) else expires_at end`;

const RESERVE_AT_ONCE = `
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

const RESERVE = `
  update gatehouse_attempts set attempts = attempts + ?
  where id = ? and expires_at = ? and attempts <= ?`;

const FIND = 'select id, attempts, expires_at from gatehouse_attempts where id = ?';
