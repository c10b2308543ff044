/** A time in seconds since 1970 (NumericDate, RFC 7519 section 2), or a span of time in seconds. Stored ones are whole numbers. */
export type Seconds = number;

export const HOUR: Seconds = 3600;
export const DAY: Seconds = 24 * HOUR;

/** A time in milliseconds since 1970, or a span in milliseconds. It is used for timers, and where the order within a second counts. */
export type Milliseconds = number;

/**
 * A span of time: a whole number of seconds, or a number and a unit such as `'1 year'`, `'30 days'`, `'15 min'`, `'10s'`. The
 * result has to be whole seconds: `'1.5 min'` is accepted, `'0.5s'` is not. Only timeouts also accept milliseconds: `'500 ms'`.
 */
export type Duration = number | `${number} ${DurationUnit}` | `${number}${DurationUnit}`;

/**
 * A unit of a {@link Duration}. A year has 365 days; there are no months.
 *
 * @useDeclaredType
 */
export type DurationUnit = keyof typeof MILLISECONDS;

// A year has 365 days, because the reference platform's one-year token has `expires_in: 31536000`; duration libraries use
// 365.25.
const MILLISECONDS = {
  ms: 1,
  s: 1000,
  second: 1000,
  seconds: 1000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
  week: 604_800_000,
  weeks: 604_800_000,
  year: 31_536_000_000,
  years: 31_536_000_000,
} as const;

/** Reads a duration as whole seconds. `undefined` for anything else. */
export function parseDuration(duration: unknown): Seconds | undefined {
  const milliseconds = parseMilliseconds(duration);
  return milliseconds !== undefined && milliseconds % 1000 === 0 ? toSeconds(milliseconds) : undefined;
}

/** Reads the duration of a timeout as whole milliseconds. `undefined` for anything else. */
export function parseMilliseconds(duration: unknown): Milliseconds | undefined {
  const milliseconds = typeof duration === 'string' ? fromText(duration) : fromSeconds(duration);
  return Number.isSafeInteger(milliseconds) && milliseconds >= 0 ? milliseconds : undefined;
}

function fromText(duration: string): Milliseconds {
  const [, whole = '', fraction = '', unit = ''] = /^(\d+)(?:\.(\d+))? ?([a-z]+)$/.exec(duration) ?? [];
  if (!Object.hasOwn(MILLISECONDS, unit)) return NaN;
  // Computed with whole numbers, because in floating point 2.3 times 3,600,000 is not one.
  return (Number(whole + fraction) * MILLISECONDS[unit as DurationUnit]) / 10 ** fraction.length;
}

function fromSeconds(duration: unknown): Milliseconds {
  return typeof duration === 'number' && Number.isInteger(duration) ? toMilliseconds(duration) : NaN;
}

export function toMilliseconds(time: Seconds): Milliseconds {
  return Math.round(time * 1000);
}

/** Converts milliseconds to seconds, with fractions. */
export function toSeconds(time: Milliseconds): Seconds {
  return time / 1000;
}

export function toDate(time: Seconds): Date {
  return new Date(toMilliseconds(time));
}
