import type {
  AttemptCounter,
  AttemptStore,
  DeviceRequestThrottle,
  UserCodeThrottle,
} from '../contracts/index.ts';
import { networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createLimiter } from './limiter.ts';

/** How many wrong user codes may be entered within a window of time. */
export interface UserCodeLimits {
  readonly perUser: number;
  readonly perAddress: number;
  /** In seconds. */
  readonly window: number;
}

/** How many device authorization requests may be made within a window of time. */
export interface DeviceRequestLimits {
  readonly perAddress: number;
  readonly perClient: number;
  /** In seconds. */
  readonly window: number;
}

// In seconds. An attempt that another node gives back is noticed after this time.
const REMEMBERED = 10;

/**
 * Throttles the entering of user codes, per user, and per address with its networks.
 *
 * An attempt is counted before the code is looked for, so that concurrent ones do not exceed the limits, and given back when the
 * code is right.
 */
export function createUserCodeThrottle(
  store: AttemptStore,
  { idOf, limits }: { readonly idOf: AttemptId; readonly limits: UserCodeLimits },
): UserCodeThrottle {
  const limiter = createLimiter(store, { window: limits.window, remembered: REMEMBERED });
  return {
    async attempt(userId, address, find) {
      const counters: readonly AttemptCounter[] = [
        { id: idOf('user code', userId), limit: limits.perUser },
        ...networksOf(address).map(({ name, multiplier }) => ({
          id: idOf('user code address', name),
          limit: limits.perAddress * multiplier,
        })),
      ];
      await limiter.take(counters);
      let isWrong = false;
      try {
        const found = await find();
        isWrong = found === undefined;
        return found;
      } finally {
        if (!isWrong) await limiter.giveBack(counters);
      }
    },
  };
}

/**
 * Throttles device authorization requests, each of which stores a row: those of a confidential client for all of its devices, which
 * have the address of its own server, and those of public clients per address with its networks. Anybody can send requests in the
 * name of a public client, so a limit for one would be used up by strangers, who then lock out its devices.
 */
export function createDeviceRequestThrottle(
  store: AttemptStore,
  { idOf, limits }: { readonly idOf: AttemptId; readonly limits: DeviceRequestLimits },
): DeviceRequestThrottle {
  const limiter = createLimiter(store, { window: limits.window });
  return {
    async count({ confidential, id }, address) {
      await limiter.take(
        confidential
          ? [{ id: idOf('device client', id), limit: limits.perClient }]
          : networksOf(address).map(({ name, multiplier }) => ({
              id: idOf('device address', name),
              limit: limits.perAddress * multiplier,
            })),
      );
    },
  };
}

/** Used when the option turns the throttling of user codes off. */
export const unlimitedUserCodes: UserCodeThrottle = { attempt: async (_userId, _address, find) => find() };

/** Used when the option turns the throttling of device authorization requests off. */
export const unlimitedDeviceRequests: DeviceRequestThrottle = { async count() {} };
