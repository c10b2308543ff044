import { parseDuration } from '../contracts/duration.ts';
import type { Client, ClientGrantType, ClientLifetimes } from '../contracts/index.ts';
import type { FieldErrorCode, FieldErrorParameters } from '../errors.ts';

/** All lifetimes that a client can shorten, in seconds. */
export type CompleteLifetimes = Readonly<Record<keyof ClientLifetimes, number>>;

/**
 * The lifetimes of a client's tokens: each is the shorter one of the client's and the server's, because the server's may have
 * been lowered after the client was registered.
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

/** Adds a mistake to those that are thrown together. */
export type AddMistake = (field: string, code: FieldErrorCode, parameters?: FieldErrorParameters) => void;

const NAMES: readonly (keyof ClientLifetimes)[] = ['accessToken', 'refreshToken', 'refreshTokenAbsolute'];

/**
 * Checks the lifetimes of a client, and returns them in seconds.
 *
 * @param about.server - the longest lifetimes; `undefined`: not known, so that any are accepted
 * @param about.registered - the client's stored lifetimes, which stay valid when the server's were lowered, so that other
 * fields of the client can be changed
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
  addMistake: AddMistake,
): Client['lifetimes'] {
  if (given === undefined) return {};
  if (Object.prototype.toString.call(given) !== '[object Object]') {
    addMistake('lifetimes', 'lifetimes_form');
    return {};
  }
  const durations = given as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(durations).filter((name) => !NAMES.some((known) => known === name));
  for (const name of unknown) addMistake(`lifetimes.${name}`, 'unknown_lifetime');
  const checked: { -readonly [Name in keyof ClientLifetimes]: number } = {};
  for (const name of NAMES) {
    if (durations[name] === undefined) continue;
    const field = `lifetimes.${name}`;
    const seconds = parseDuration(durations[name]);
    const longest = server?.[name] ?? Infinity;
    if (seconds === undefined) addMistake(field, 'not_duration');
    else if (name !== 'accessToken' && grantType === 'client_credentials')
      addMistake(field, 'authorization_code_only');
    else if (seconds === 0) addMistake(field, 'lifetime_too_short');
    else if (seconds > longest && seconds !== registered[name])
      addMistake(field, 'lifetime_too_long', { most: longest });
    else checked[name] = seconds;
  }
  return checked;
}
