/**
 * A span of time: a whole number of seconds, or a number and a unit such as `'1 year'`, `'30 days'`, `'15 min'`, `'10s'`.
 * Together they make whole seconds: `'1.5 min'` does, `'0.5s'` does not.
 */
export type Duration = number | `${number} ${DurationUnit}` | `${number}${DurationUnit}`;

/**
 * A unit of a {@link Duration}. A year has 365 days; there are no months and no weeks.
 *
 * @useDeclaredType
 */
export type DurationUnit = keyof typeof SECONDS;

// A year has 365 days, because the reference's one-year token says `expires_in: 31536000`; libraries take 365.25.
const SECONDS = {
  s: 1,
  second: 1,
  seconds: 1,
  min: 60,
  minute: 60,
  minutes: 60,
  h: 3600,
  hour: 3600,
  hours: 3600,
  d: 86_400,
  day: 86_400,
  days: 86_400,
  year: 31_536_000,
  years: 31_536_000,
} as const;

/** Reads a duration as whole seconds. `undefined` when it is not one. */
export function parseDuration(duration: unknown): number | undefined {
  if (typeof duration === 'number') {
    return Number.isSafeInteger(duration) && duration >= 0 ? duration : undefined;
  }
  const parts = typeof duration === 'string' ? /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(duration) : null;
  if (!parts || !Object.hasOwn(SECONDS, parts[2]!)) return undefined;
  const seconds = Number(parts[1]) * SECONDS[parts[2] as DurationUnit];
  return Number.isSafeInteger(seconds) ? seconds : undefined;
}
