import { parseDuration } from '../contracts/duration.ts';
import type { Checked, Client, ClientLifetimes, Seconds } from '../contracts/index.ts';
import { fieldError } from '../contracts/field-errors.ts';

/** All lifetimes that a client can shorten, in seconds. */
export type CompleteLifetimes = Readonly<Record<keyof ClientLifetimes, Seconds>>;

const NAMES: readonly (keyof ClientLifetimes)[] = ['accessToken', 'refreshToken', 'refreshTokenAbsolute'];

/**
 * Checks the lifetimes of a client, and returns them in seconds.
 *
 * @param server - the longest lifetimes; `undefined` when they are not known, so that any lifetime is accepted
 * @param registered - the client's stored lifetimes, which stay valid when the server's were lowered, so that other fields of the client
 * can be changed
 */
export function checkLifetimes(
  given: unknown,
  server: CompleteLifetimes | undefined,
  registered: Client['lifetimes'] = {},
): Checked<Client['lifetimes']> {
  if (given === undefined) return { checked: {} };
  if (Object.prototype.toString.call(given) !== '[object Object]')
    return { mistakes: [fieldError('lifetimes', 'lifetimes_form')] };
  const durations = given as Readonly<Record<string, unknown>>;
  const checked: { -readonly [Name in keyof ClientLifetimes]: Seconds } = {};
  const mistakes = Object.keys(durations)
    .filter((name) => !NAMES.some((known) => known === name))
    .map((name) => fieldError(`lifetimes.${name}`, 'unknown_lifetime'));
  for (const name of NAMES) {
    if (durations[name] === undefined) continue;
    const field = `lifetimes.${name}`;
    const seconds = parseDuration(durations[name]);
    const most = server?.[name] ?? Infinity;
    if (seconds === undefined) mistakes.push(fieldError(field, 'not_duration'));
    else if (seconds === 0) mistakes.push(fieldError(field, 'lifetime_too_short'));
    else if (seconds > most && seconds !== registered[name])
      mistakes.push(fieldError(field, 'lifetime_too_long', { most }));
    else checked[name] = seconds;
  }
  return mistakes.length > 0 ? { mistakes } : { checked };
}
