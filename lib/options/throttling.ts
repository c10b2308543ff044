import { ConfigError } from '../errors.ts';
import { checkDuration, isLiteral } from './checks.ts';
import type { ResolvedThrottling, Throttling } from './throttling-options.ts';

const LOGIN = {
  perAccountAndAddress: 5,
  perAccount: 20,
  perAddress: 100,
  perDevice: 5,
  deviceLifetime: '180 days',
  window: '15 minutes',
} as const;
const CLIENTS = { perClientAndAddress: 10, perAddress: 100, window: '5 minutes' } as const;
const USER_CODES = { perUser: 5, perAddress: 50, window: '15 minutes' } as const;
const DEVICE_REQUESTS = { perAddress: 50, perClient: 10_000, window: '10 minutes' } as const;

// The limit of browsers for a cookie's lifetime (RFC 6265bis section 5.5).
const LONGEST_DEVICE_LIFETIME = 400 * 86_400;

export function checkThrottling(throttling: Throttling | false): ResolvedThrottling {
  const off = {
    login: false,
    clientAuthentication: false,
    userCodes: false,
    deviceRequests: false,
  } as const;
  const {
    clientAuthentication = {},
    deviceRequests = {},
    login = {},
    userCodes = {},
  } = checkNames('throttling', throttling === false ? off : throttling, Object.keys(off));
  return Object.freeze({
    login: checkLimits('throttling.login', login, LOGIN),
    clientAuthentication: checkLimits('throttling.clientAuthentication', clientAuthentication, CLIENTS),
    userCodes: checkLimits('throttling.userCodes', userCodes, USER_CODES),
    deviceRequests: checkLimits('throttling.deviceRequests', deviceRequests, DEVICE_REQUESTS),
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
  if (!isLiteral(given)) {
    throw new ConfigError(option, `give an object with some of ${names.join(', ')}, or false for no limits`);
  }
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) {
      throw new ConfigError(
        `${option}.${name}`,
        `there is no such limit; the limits are ${names.join(', ')}`,
      );
    }
  }
  return given;
}

const DURATIONS: Readonly<Record<string, (option: string, duration: unknown) => number>> = {
  window: (option, window) => checkDuration(option, window, 1),
  deviceLifetime(option, lifetime) {
    const seconds = checkDuration(option, lifetime, 1);
    if (seconds <= LONGEST_DEVICE_LIFETIME) return seconds;
    throw new ConfigError(option, 'give at most 400 days: browsers store no cookie for longer');
  },
};

function checkCount(option: string, count: unknown): number {
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1) return count;
  throw new ConfigError(option, 'give the number that is allowed in a window, at least 1');
}
