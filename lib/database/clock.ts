import { toSeconds } from '../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import { toOptionalNumber } from './column-values.ts';
import type { Integer } from './column-values.ts';
import type { Database } from './database.ts';

// Less is not corrected: the statement takes a part of it, and clocks that are synchronized differ by less.
const TOLERANCE: Milliseconds = 5000;

// A clock that differs by more does not drift: it was set, on this node or on the database's, and the log says so.
const MOST_DRIFT: Milliseconds = 3_600_000;

/**
 * SQL for a time of this node, in seconds, by the database's clock. Its values are those of {@link timeValues}.
 *
 * @param clock - that of the dialect
 */
export function correctedTime(clock: string): string {
  const ahead = `(${clock}) - ?`;
  return `? + case when abs(${ahead}) > ${TOLERANCE} then round((${ahead}) / 1000) else 0 end`;
}

/** @param time - of this node */
export function timeValues(time: Seconds): readonly number[] {
  const at = Date.now();
  return [time, at, at];
}

/** Reads the database's clock; `undefined` where it is that of this machine. */
export async function readClock({
  dialect,
  get,
}: Pick<Database, 'dialect' | 'get'>): Promise<Milliseconds | undefined> {
  const row = await get<{ clock: Integer | null }>(`select ${dialect.clock} as clock`);
  return toOptionalNumber(row?.clock ?? null);
}

/** A time of this node, by the database's clock, where the two drift apart. */
export async function correctTime(
  database: Pick<Database, 'dialect' | 'get'>,
  time: Seconds,
): Promise<Seconds> {
  const at = Date.now();
  const ahead = ((await readClock(database)) ?? at) - at;
  const drifts = Math.abs(ahead) > TOLERANCE && Math.abs(ahead) <= MOST_DRIFT;
  return drifts ? time + Math.round(toSeconds(ahead)) : time;
}
