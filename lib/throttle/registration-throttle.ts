import { now } from '../contracts/clock.ts';
import type { AttemptStore } from '../contracts/index.ts';
import { networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createBlockedAttempts } from './attempts.ts';

// In seconds.
const WINDOW = 3600;

/** Limits how many apps are registered from an address and its networks in an hour, on all nodes together. */
export interface RegistrationThrottle {
  /** Reads no storage. @throws TooManyAttemptsError when this node remembers that no registration is left */
  check(address: string): void;
  /** Counts a registration before it is stored. @throws TooManyAttemptsError when none is left */
  count(address: string): Promise<void>;
}

export function createRegistrationThrottle(
  store: AttemptStore,
  { idOf, perAddress }: { readonly idOf: AttemptId; readonly perAddress: number },
): RegistrationThrottle {
  const blocked = createBlockedAttempts(WINDOW);
  const countersOf = (address: string): readonly { id: string; limit: number }[] =>
    networksOf(address).map(({ name, multiplier }) => ({
      id: idOf('registration', name),
      limit: multiplier * perAddress,
    }));

  function check(address: string): void {
    if (blocked.isEmpty) return;
    for (const { id } of countersOf(address)) blocked.check(id);
  }

  return {
    check,
    async count(address) {
      check(address);
      // The narrowest network first: what is refused there does not count for the wider ones, which others share.
      for (const { id, limit } of countersOf(address)) {
        const at = now();
        const end = await store.count(id, { limit, now: at, expiresAt: at + WINDOW });
        if (end !== undefined) blocked.refuse(id, end);
      }
    },
  };
}
