import { parseDuration } from '../contracts/duration.ts';
import type { Client, ClientGrantType, ClientLifetimes } from '../contracts/index.ts';
import type { FieldErrorCode, FieldErrorParameters } from '../errors.ts';

/** All lifetimes that a client may shorten, in seconds. */
export type CompleteLifetimes = Readonly<Record<keyof ClientLifetimes, number>>;

/**
 * How long what a client gets lives: its own lifetimes, where they are shorter than the server's. The server's may have been
 * lowered since the client was registered.
 */
export function effectiveLifetimes(
  { lifetimes }: Pick<Client, 'lifetimes'>,
  server: CompleteLifetimes,
): CompleteLifetimes {
  const shorter = (name: keyof ClientLifetimes): number =>
    Math.min(lifetimes[name] ?? Infinity, server[name]);
  return {
    accessToken: shorter('accessToken'),
    refreshToken: shorter('refreshToken'),
    refreshTokenAbsolute: shorter('refreshTokenAbsolute'),
  };
}

type Refuse = (field: string, code: FieldErrorCode, parameters?: FieldErrorParameters) => void;

const NAMES: readonly (keyof ClientLifetimes)[] = ['accessToken', 'refreshToken', 'refreshTokenAbsolute'];

/**
 * Checks the lifetimes of a client, and gives them in seconds.
 *
 * @param about.server - the longest that there may be; `undefined`: they are not known, and any are taken
 * @param about.registered - those that the client has: they do not keep it from being changed when the server's were lowered
 */
export function checkLifetimes(
  given: unknown,
  {
    grantType,
    registered = {},
    server,
  }: {
    readonly grantType: ClientGrantType | undefined;
    readonly registered: Client['lifetimes'] | undefined;
    readonly server: CompleteLifetimes | undefined;
  },
  refuse: Refuse,
): Client['lifetimes'] {
  if (given === undefined) return {};
  if (Object.prototype.toString.call(given) !== '[object Object]') {
    refuse('lifetimes', 'lifetimes_form');
    return {};
  }
  const durations = given as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(durations).filter((name) => !NAMES.some((known) => known === name));
  for (const name of unknown) refuse(`lifetimes.${name}`, 'unknown_lifetime');
  const checked: { -readonly [Name in keyof ClientLifetimes]: number } = {};
  for (const name of NAMES) {
    if (durations[name] === undefined) continue;
    const field = `lifetimes.${name}`;
    const seconds = parseDuration(durations[name]);
    const most = server?.[name] ?? Infinity;
    if (seconds === undefined) refuse(field, 'not_duration');
    else if (name !== 'accessToken' && grantType === 'client_credentials')
      refuse(field, 'authorization_code_only');
    else if (seconds === 0) refuse(field, 'lifetime_too_short');
    else if (seconds > most && seconds !== registered[name]) refuse(field, 'lifetime_too_long', { most });
    else checked[name] = seconds;
  }
  return checked;
}
