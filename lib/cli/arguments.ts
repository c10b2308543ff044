/** Parsers of the arguments of options, and the options for the lifetimes of a client. */
import { InvalidArgumentError, Option } from 'commander';
import type { Client } from 'koa-gatehouse';
import type { ClientLifetimes } from 'koa-gatehouse/types';

import { parseDuration } from '../contracts/duration.ts';
import type { Seconds } from '../contracts/duration.ts';

/** Collects the values of an option that can be repeated. */
export function repeated(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** Parses a duration such as `15 minutes`, `15min` or `900` to seconds. */
export function duration(text: string): Seconds {
  const seconds = parseDuration(/^\d{1,15}$/.test(text) ? Number(text) : text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError("Give seconds, or a number and a unit such as '15 minutes' or '30 days'.");
}

/** Parses a duration that needs a unit, because people would read a plain number as days. */
export function durationWithUnit(text: string): Seconds {
  if (!/^\d+$/.test(text)) return duration(text);
  throw new InvalidArgumentError(`Give the unit too, such as '${text} days', or '${text} s' for seconds.`);
}

/** The values of {@link lifetimeOptions}, in seconds. */
export interface LifetimeOptions {
  readonly accessTokenLifetime?: Seconds;
  readonly refreshTokenLifetime?: Seconds;
  readonly refreshTokenAbsoluteLifetime?: Seconds;
}

/** The options for the lifetimes of a client. */
export function lifetimeOptions(): readonly Option[] {
  return [
    new Option(
      '--access-token-lifetime <duration>',
      "such as '15 minutes'; where the servers' is shorter, theirs counts",
    ),
    new Option('--refresh-token-lifetime <duration>', 'of one that is not used, for authorization_code'),
    new Option(
      '--refresh-token-absolute-lifetime <duration>',
      'how long an authorization can be refreshed, for authorization_code',
    ),
  ].map((option) => option.argParser(duration));
}

/** The lifetimes of a client with those of the options replaced; `undefined` when no option was given. */
export function changedLifetimes(
  { accessTokenLifetime, refreshTokenAbsoluteLifetime, refreshTokenLifetime }: LifetimeOptions,
  before: Client['lifetimes'] = {},
): ClientLifetimes<Seconds> | undefined {
  const given = {
    ...(accessTokenLifetime !== undefined && { accessToken: accessTokenLifetime }),
    ...(refreshTokenLifetime !== undefined && { refreshToken: refreshTokenLifetime }),
    ...(refreshTokenAbsoluteLifetime !== undefined && { refreshTokenAbsolute: refreshTokenAbsoluteLifetime }),
  };
  return Object.keys(given).length === 0 ? undefined : { ...before, ...given };
}
