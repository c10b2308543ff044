import type { AttemptCounter, AttemptStore } from '../contracts/index.ts';
import { networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createLimiter } from './limiter.ts';

// In seconds.
const WINDOW = 3600;

// Each is a row of the audit log, and is announced to all nodes.
const CHANGES = 20;

// The changes of an address for each app that it may register.
const CHANGES_PER_APP = 3;

/** Limits how many apps are registered from an address and its networks, and changed, in an hour, on all nodes together. */
export interface RegistrationThrottle {
  /** A keyed hash of the widest network of an address. */
  networkOf(address: string): string;
  /** Reads no storage. @throws TooManyAttemptsError when this node remembers that no registration is left */
  check(address: string): void;
  /** Counts a registration before it is stored. @throws TooManyAttemptsError when none is left */
  count(address: string): Promise<void>;
  /** Counts a change of a registered app before it is stored. @throws TooManyAttemptsError when none is left */
  countChange(clientId: string, address: string): Promise<void>;
}

export function createRegistrationThrottle(
  store: AttemptStore,
  { idOf, perAddress }: { readonly idOf: AttemptId; readonly perAddress: number },
): RegistrationThrottle {
  const limiter = createLimiter(store, { window: WINDOW });
  const countersOf = (kind: string, address: string, limit: number): readonly AttemptCounter[] =>
    networksOf(address).map(({ name, multiplier }) => ({ id: idOf(kind, name), limit: multiplier * limit }));

  return {
    networkOf: (address) => idOf('registration network', networksOf(address).at(-1)!.name),
    check(address) {
      if (!limiter.isEmpty) limiter.check(countersOf('registration', address, perAddress));
    },
    count: async (address) => limiter.take(countersOf('registration', address, perAddress)),
    countChange: async (clientId, address) =>
      limiter.take([
        { id: idOf('registration changes', clientId), limit: CHANGES },
        ...countersOf('registration changes of address', address, CHANGES_PER_APP * perAddress),
      ]),
  };
}
