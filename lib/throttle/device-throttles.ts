import { now } from '../contracts/clock.ts';
import type { AttemptStore, DeviceRequestThrottle, UserCodeThrottle } from '../contracts/index.ts';
import { networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createBlockedAttempts } from './attempts.ts';

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

interface Counter {
  readonly id: string;
  readonly limit: number;
}

// In seconds. An attempt that another node gives back is noticed after this time.
const BLOCK_SECONDS = 10;

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
  const count = createCount(store, limits.window, BLOCK_SECONDS);
  return {
    async attempt(userId, address, find) {
      const taken: Counter[] = [];
      const counters = [
        { id: idOf('user code', userId), limit: limits.perUser },
        ...networksOf(address).map(({ name, multiplier }) => ({
          id: idOf('user code address', name),
          limit: limits.perAddress * multiplier,
        })),
      ];
      let isWrong = false;
      try {
        for (const counter of counters) {
          await count(counter);
          taken.push(counter);
        }
        const found = await find();
        isWrong = found === undefined;
        return found;
      } finally {
        if (!isWrong) for (const { id } of taken) await store.giveBack(id);
      }
    },
  };
}

/**
 * Throttles device authorization requests, each of which stores a row: per client, and per address with its networks.
 *
 * The address of a confidential client is that of its own server, which makes the requests of all of its devices.
 */
export function createDeviceRequestThrottle(
  store: AttemptStore,
  { idOf, limits }: { readonly idOf: AttemptId; readonly limits: DeviceRequestLimits },
): DeviceRequestThrottle {
  const count = createCount(store, limits.window, limits.window);
  return {
    async count({ confidential, id }, address) {
      const networks = confidential ? [] : networksOf(address);
      for (const { name, multiplier } of networks) {
        await count({ id: idOf('device address', name), limit: limits.perAddress * multiplier });
      }
      await count({ id: idOf('device client', id), limit: limits.perClient });
    },
  };
}

/** Makes the function that counts an attempt, or throws TooManyAttemptsError. */
function createCount(
  store: AttemptStore,
  window: number,
  blockSeconds: number,
): (counter: Counter) => Promise<void> {
  const blocked = createBlockedAttempts(blockSeconds);
  return async ({ id, limit }) => {
    blocked.check(id);
    const at = now();
    const end = await store.count(id, { limit, now: at, expiresAt: at + window });
    if (end !== undefined) blocked.refuse(id, end);
  };
}

/** Used when the option turns the throttling of user codes off. */
export const unlimitedUserCodes: UserCodeThrottle = { attempt: async (_userId, _address, find) => find() };

/** Used when the option turns the throttling of device authorization requests off. */
export const unlimitedDeviceRequests: DeviceRequestThrottle = { async count() {} };
