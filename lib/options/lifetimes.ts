import { DAY } from '../contracts/duration.ts';
import type { Duration, Seconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { isObject, optional, readOptions } from './declare.ts';
import type { Check, Given } from './declare.ts';
import { duration, oneOf } from './values.ts';

const YEAR = 31_536_000;
const PRESETS = {
  long: {
    accessToken: YEAR,
    refreshToken: YEAR,
    refreshTokenAbsolute: 5 * YEAR,
    authorizationCode: 60,
    session: 14 * DAY,
    sessionAbsolute: 90 * DAY,
    interaction: 3600,
  },
  short: {
    accessToken: 3600,
    refreshToken: 30 * DAY,
    refreshTokenAbsolute: YEAR,
    authorizationCode: 60,
    session: 14 * DAY,
    sessionAbsolute: 30 * DAY,
    interaction: 3600,
  },
} as const;

export const SHORT_LIFETIMES: ResolvedLifetimes = PRESETS.short;

/**
 * A set of lifetimes. With `long`, access tokens and refresh tokens live a year. With `short`, access tokens live an hour and refresh
 * tokens 30 days.
 */
export type LifetimePreset = 'long' | 'short';

const preset = oneOf<LifetimePreset>('long', 'short');

/** A lifetime of more than 10 years is a number of milliseconds by mistake. */
export const lifetimeCheck: Check<Duration, Seconds> = duration(
  1,
  10 * YEAR,
  'give at most 10 years; a number is in seconds',
);

const LIFETIMES = {
  /** The preset for the lifetimes that are left out. @default 'long' */
  preset: optional(preset, 'long'),
  /** The lifetime of each access token. @default '1 year', preset `short`: '1 hour' */
  accessToken: optional(lifetimeCheck),
  /** The lifetime of a refresh token that is not used; each refresh issues a new one. @default '1 year', preset `short`: '30 days' */
  refreshToken: optional(lifetimeCheck),
  /**
   * How long an authorization can be refreshed in total, from the consent on. After that, the user has to authorize the app again.
   * @default '5 years', preset `short`: '1 year'
   */
  refreshTokenAbsolute: optional(lifetimeCheck),
  /** The lifetime of an authorization code, at most 10 minutes (RFC 6749 section 4.1.2). @default '60 seconds' */
  authorizationCode: optional(duration(1, 600, 'a code lives 10 minutes at most (RFC 6749 section 4.1.2)')),
  /**
   * The lifetime of a login session that is not used; each use restarts it, with a precision of a hundredth of the lifetime. @default '14
   * days'
   */
  session: optional(lifetimeCheck),
  /** The lifetime of a login session in total. @default '90 days', preset `short`: '30 days' */
  sessionAbsolute: optional(lifetimeCheck),
  /** How long a login or consent page can be submitted. @default '1 hour' */
  interaction: optional(lifetimeCheck),
};

/** The lifetimes of tokens, sessions and pages. A member that is left out has the value of the preset. */
export interface Lifetimes extends Given<typeof LIFETIMES> {}

/** The lifetimes in seconds. */
export type ResolvedLifetimes = Readonly<Record<keyof (typeof PRESETS)['long'], Seconds>>;

/** A preset, or lifetimes of one's own. */
export const lifetimes: Check<LifetimePreset | Lifetimes, ResolvedLifetimes> = (place, given) => {
  if (typeof given === 'string') return PRESETS[preset(place, given)];
  if (!isObject(given)) {
    throw new ConfigError(
      place,
      "give a preset, long or short, or single lifetimes such as { accessToken: '1 hour' }",
    );
  }
  const { preset: base, ...own } = readOptions(LIFETIMES, given, place);
  const resolved: Record<string, Seconds> = { ...PRESETS[base] };
  for (const [name, seconds] of Object.entries(own)) if (seconds !== undefined) resolved[name] = seconds;
  for (const name of ['session', 'refreshToken'] as const) {
    const absolute = `${name}Absolute` as const;
    if (resolved[absolute]! >= resolved[name]!) continue;
    if (own[absolute] !== undefined)
      throw new ConfigError(`${place}.${absolute}`, `give at least ${place}.${name}`);
    resolved[absolute] = resolved[name]!;
  }
  return Object.freeze(resolved);
};
