import { toSeconds } from '../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import { toOptionalNumber } from './rows.ts';
import type { Integer } from './rows.ts';
import type { Database } from './database.ts';

// A smaller difference is not corrected: the statement itself takes a part of it, and synchronized clocks differ by less.
const TOLERANCE: Milliseconds = 5000;

// A larger difference is not drift: the clock was set, on this node or on the database's, and the log says so.
const MOST_DRIFT: Milliseconds = 3_600_000;

/**
 * SQL that converts a time of this node, in seconds, to the database's clock. Bind the values of {@link timeValues}.
 *
 * @param clock - `Dialect.clock`
 */
export function correctedTime(clock: string): string {
  const ahead = `(${clock}) - ?`;
  return `? + case when abs(${ahead}) > ${TOLERANCE} then round((${ahead}) / 1000) else 0 end`;
}

/** @param time - by this node's clock */
export function timeValues(time: Seconds): readonly number[] {
  const at = Date.now();
  return [time, at, at];
}

/** Reads the database's clock; `undefined` where the database uses this machine's clock. */
export async function readClock({
  dialect,
  get,
}: Pick<Database, 'dialect' | 'get'>): Promise<Milliseconds | undefined> {
  const row = await get<{ clock: Integer | null }>(`select ${dialect.clock} as clock`);
  return toOptionalNumber(row?.clock ?? null);
}

/** Converts a time of this node to the database's clock where the two clocks drift apart. */
export async function correctTime(
  database: Pick<Database, 'dialect' | 'get'>,
  time: Seconds,
): Promise<Seconds> {
  const at = Date.now();
  const ahead = ((await readClock(database)) ?? at) - at;
  const drifts = Math.abs(ahead) > TOLERANCE && Math.abs(ahead) <= MOST_DRIFT;
  return drifts ? time + Math.round(toSeconds(ahead)) : time;
}
