import type {
  AttemptCounter,
  AttemptStore,
  ClientThrottle,
  DeviceRequestThrottle,
  GuardOutcome,
  KnownBrowsers,
  Logger,
  LoginThrottle,
  RequestCounter,
  UserCodeThrottle,
} from '../contracts/index.ts';
import type { Secrets } from '../keys/secrets.ts';
import { createAttemptId, networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import {
  createDeviceRequestThrottle,
  createUserCodeThrottle,
  unlimitedDeviceRequests,
  unlimitedUserCodes,
} from './device-throttles.ts';
import type { DeviceRequestLimits, UserCodeLimits } from './device-throttles.ts';
import { createKnownBrowsers } from './known-browsers.ts';
import { createLimiter } from './limiter.ts';
import { createLoginThrottle, unlimitedLogins } from './login-throttle.ts';
import type { LoginLimits } from './login-throttle.ts';
import { createRegistrationThrottle } from './registration-throttle.ts';
import type { RegistrationThrottle } from './registration-throttle.ts';
import { createRequestCounter } from './request-counter.ts';

/** The throttles of a server. */
export interface Throttles {
  readonly logins: LoginThrottle;
  /** `undefined`: logins are not throttled, so browsers need no device cookie. */
  readonly browsers: KnownBrowsers | undefined;
  readonly clients: ClientThrottle;
  readonly userCodes: UserCodeThrottle;
  readonly deviceRequests: DeviceRequestThrottle;
  /** @param perAddress - the number of apps */
  readonly registrations: (perAddress: number) => RegistrationThrottle;
  readonly requests: RequestCounter;
}

export function createThrottles(
  store: AttemptStore,
  {
    attempts,
    logger,
    observers,
    secrets,
  }: {
    readonly logger: Logger;
    /** `guarded` is called for each refused request. */
    readonly observers: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
    readonly secrets: Secrets;
    readonly attempts: {
      readonly login: (LoginLimits & { readonly deviceLifetime: number }) | undefined;
      readonly clientAuthentication: ClientLimits | undefined;
      readonly userCodes: UserCodeLimits | undefined;
      readonly deviceRequests: DeviceRequestLimits | undefined;
    };
  },
): Throttles {
  const idOf = createAttemptId(secrets);
  const { clientAuthentication, deviceRequests, login, userCodes } = attempts;
  return {
    logins: login ? createLoginThrottle(store, { idOf, limits: login, logger }) : unlimitedLogins,
    browsers: login && createKnownBrowsers(secrets, login.deviceLifetime),
    clients: clientAuthentication
      ? createClientThrottle(store, { idOf, limits: clientAuthentication })
      : unlimitedClients,
    userCodes: userCodes ? createUserCodeThrottle(store, { idOf, limits: userCodes }) : unlimitedUserCodes,
    deviceRequests: deviceRequests
      ? createDeviceRequestThrottle(store, { idOf, limits: deviceRequests })
      : unlimitedDeviceRequests,
    registrations: (perAddress) => createRegistrationThrottle(store, { idOf, perAddress }),
    requests: createRequestCounter(store, {
      idOf,
      onRefused: () => observers.guarded?.(TOO_MANY_REQUESTS),
    }),
  };
}

const TOO_MANY_REQUESTS: GuardOutcome = Object.freeze({ admitted: false, code: 'too_many_requests' });

/** How many authentications of clients may fail within a window of time. */
interface ClientLimits {
  readonly perClientAndAddress: number;
  readonly perAddress: number;
  /** In seconds. */
  readonly window: number;
}

/**
 * Throttles client authentication, per client and address, and per address, in both cases for the networks of the address too.
 * There is no limit per client for all addresses, because an attacker could use it to lock the client out.
 *
 * Only failures are counted, after the fact. All nodes share the counters, but each node refuses by the ids that it remembers
 * as blocked, so a successful authentication never reads the storage.
 */
function createClientThrottle(
  store: AttemptStore,
  { idOf, limits }: { readonly idOf: AttemptId; readonly limits: ClientLimits },
): ClientThrottle {
  const { perAddress, perClientAndAddress, window } = limits;
  const limiter = createLimiter(store, { window });

  // Those of the client first: their end is the one that the answer tells when several are full.
  function countersOf(clientId: string, address: string): readonly AttemptCounter[] {
    const networks = networksOf(address);
    return [
      ...networks.map(({ name, multiplier }) => ({
        id: idOf('client', clientId, name),
        limit: multiplier * perClientAndAddress,
      })),
      ...networks.map(({ name, multiplier }) => ({
        id: idOf('client address', name),
        limit: multiplier * perAddress,
      })),
    ];
  }

  return {
    check(clientId, address) {
      if (!limiter.isEmpty) limiter.check(countersOf(clientId, address));
    },
    countFailure: async (clientId, address) => limiter.take(countersOf(clientId, address)),
  };
}

/** Used when the option turns the throttling of client authentication off. */
const unlimitedClients: ClientThrottle = {
  check() {},
  async countFailure() {},
};
