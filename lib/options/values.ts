/** Checks of the values of options, also for the modules that load nothing of the server. */
import { parseMilliseconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';

export function checkBoolean(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new ConfigError(option, 'pass true or false');
  return value;
}

export function checkFunction<F>(option: string, value: F | undefined): F | undefined {
  if (value !== undefined && typeof value !== 'function')
    throw new ConfigError(option, 'pass a function, or leave it out');
  return value;
}

export function checkInteger(option: string, value: unknown, least: number, most?: number): number {
  const number = Number(value);
  if (Number.isSafeInteger(value) && number >= least && number <= (most ?? number)) return number;
  const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new ConfigError(option, `give a whole number ${range}`);
}

// Also detects a number of milliseconds that was given as seconds by mistake.
const LONGEST_WAIT = 3_600_000;

/** A timeout or a delay in milliseconds, of which 0 may be the least. */
export function checkWait(option: string, duration: unknown, least: 0 | 1): number {
  const milliseconds = parseMilliseconds(duration);
  if (milliseconds !== undefined && milliseconds >= least && milliseconds <= LONGEST_WAIT)
    return milliseconds;
  throw new ConfigError(
    option,
    `give seconds, or a number and a unit such as '30 seconds' or '500 ms'; ${least === 0 ? '' : 'more than 0, '}at most 1 hour`,
  );
}

export function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new ConfigError(
    'signal',
    'pass an AbortSignal, such as AbortSignal.timeout(30_000) or the signal of an AbortController',
  );
}
