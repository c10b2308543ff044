import type { Duration } from '../duration.ts';
import { ConfigError } from '../errors.ts';
import { checkDuration } from '../option-checks.ts';

/**
 * How often people and clients may guess. What is right does not count.
 *
 * An address is what Koa's `ctx.ip` tells, and of an IPv6 address the /64. Behind a proxy that the app does not trust
 * (`trustProxy`, or `app.proxy` and `app.maxIpsCount` of your own app) everybody has the proxy's. A limit for an address is
 * kept for its networks too: twice as many may fail from an IPv6 /56, three times as many from a /48 or an IPv4 /24.
 */
export interface Throttling {
  /** Failed logins; `false`: any number. Over a limit people see the login page with 429 and `Retry-After`. */
  readonly login?: LoginThrottling | false;
  /**
   * Failed authentications of clients at the token, revocation and introspection endpoints; `false`: any number. Over a
   * limit the answer is 429 with `Retry-After`. The right one of the secrets that were made here is taken still: nobody
   * can guess those, and nobody can lock a client out by failing in its name.
   */
  readonly clientAuthentication?: ClientThrottling | false;
}

/** How many logins may fail in a window. */
export interface LoginThrottling {
  /** For one account from one address. @default 5 */
  readonly perAccountAndAddress?: number;
  /** For one account from all addresses together. @default 20, which is no more than 100 in any hour */
  readonly perAccount?: number;
  /** From one address for all accounts together. @default 100 */
  readonly perAddress?: number;
  /**
   * For one account from a browser that it has signed in on before. It keeps a cookie that tells so (OWASP, device cookies),
   * and none of the other limits holds for it: strangers cannot spend its attempts. @default 5
   */
  readonly perDevice?: number;
  /** How long a browser is known after the last login on it, at most 400 days. @default '180 days' */
  readonly deviceLifetime?: Duration;
  /** How long attempts are counted, from the first of them on. @default '15 minutes' */
  readonly window?: Duration;
}

/** How many authentications of clients may fail in a window. */
export interface ClientThrottling {
  /** For one client from one address. @default 10 */
  readonly perClientAndAddress?: number;
  /** From one address for all clients together. @default 100 */
  readonly perAddress?: number;
  /** How long failures are counted, from the first of them on. @default '5 minutes' */
  readonly window?: Duration;
}

/** The limits, complete; windows in seconds. `undefined`: any number. */
export interface ResolvedThrottling {
  readonly login: Readonly<Record<keyof LoginThrottling, number>> | undefined;
  readonly clientAuthentication: Readonly<Record<keyof ClientThrottling, number>> | undefined;
}

const LOGIN = {
  perAccountAndAddress: 5,
  perAccount: 20,
  perAddress: 100,
  perDevice: 5,
  deviceLifetime: '180 days',
  window: '15 minutes',
} as const;
const CLIENTS = { perClientAndAddress: 10, perAddress: 100, window: '5 minutes' } as const;

// RFC 6265bis section 5.5.
const LONGEST_DEVICE_LIFETIME = 400 * 86_400;

export function checkThrottling(throttling: Throttling | false): ResolvedThrottling {
  const off = { login: false, clientAuthentication: false } as const;
  const { login = {}, clientAuthentication = {} } = checkNames(
    'throttling',
    throttling === false ? off : throttling,
    ['login', 'clientAuthentication'],
  );
  return Object.freeze({
    login: checkLimits('throttling.login', login, LOGIN),
    clientAuthentication: checkLimits('throttling.clientAuthentication', clientAuthentication, CLIENTS),
  });
}

function checkLimits<Name extends string>(
  option: string,
  given: Readonly<Partial<Record<Name, unknown>>> | false,
  defaults: Readonly<Record<Name, unknown>>,
): Readonly<Record<Name, number>> | undefined {
  if (given === false) return undefined;
  const names = Object.keys(defaults) as Name[];
  checkNames(option, given, names);
  const limits = names.map((name) => {
    const check = DURATIONS[name] ?? checkCount;
    return [name, check(`${option}.${name}`, given[name] === undefined ? defaults[name] : given[name])];
  });
  return Object.freeze(Object.fromEntries(limits) as Record<Name, number>);
}

function checkNames<T extends object>(option: string, given: T, names: readonly string[]): T {
  if (Object.prototype.toString.call(given) !== '[object Object]') {
    throw new ConfigError(option, `give an object with some of ${names.join(', ')}, or false for no limits`);
  }
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) {
      throw new ConfigError(`${option}.${name}`, `there is no such limit; they are ${names.join(', ')}`);
    }
  }
  return given;
}

const DURATIONS: Readonly<Record<string, (option: string, duration: unknown) => number>> = {
  window: (option, window) => checkDuration(option, window, 1),
  deviceLifetime(option, lifetime) {
    const seconds = checkDuration(option, lifetime, 1);
    if (seconds <= LONGEST_DEVICE_LIFETIME) return seconds;
    throw new ConfigError(option, 'give 400 days at most: browsers keep no cookie for longer');
  },
};

function checkCount(option: string, count: unknown): number {
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1) return count;
  throw new ConfigError(option, 'give how many may fail in a window, at least 1');
}
