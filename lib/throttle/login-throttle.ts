import type { AttemptStore, Logger, LoginOrigin, LoginThrottle } from '../contracts/index.ts';
import { accountOf, networksOf, TIMES } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createAttemptQueue, createBlockedAttempts } from './attempts.ts';
import type { Ending, AttemptQueue } from './attempts.ts';

// In seconds: an attempt that another node gives back is noticed after this time.
const MEMORY = 10;

/** How many logins may fail within a time. */
export interface LoginLimits {
  readonly perAccountAndAddress: number;
  readonly perAccount: number;
  readonly perAddress: number;
  readonly perDevice: number;
  /** In seconds. */
  readonly window: number;
}

interface Step {
  readonly queue: AttemptQueue;
  readonly id: string;
  /** What becomes of the attempt when the login is right. */
  readonly onSuccess: Ending;
}

/**
 * Throttles logins: tightly for one account from one address, loosely for an account over all addresses, and for an address
 * over all accounts, each of them for the networks that the address is in too. A browser that the account has signed in on
 * before has attempts of its own instead, so that strangers who fail on purpose do not keep the owner out.
 *
 * Each attempt is counted before its password is looked at, however many are sent at once and to whichever node; one that
 * is right is given back. When it cannot be counted, nothing is looked at: without its storage a node lets nobody guess.
 */
export function createLoginThrottle(
  store: AttemptStore,
  {
    idOf,
    limits,
    logger,
  }: { readonly idOf: AttemptId; readonly limits: LoginLimits; readonly logger: Logger },
): LoginThrottle {
  const { perAccount, perAccountAndAddress, perAddress, perDevice, window } = limits;
  const blocked = createBlockedAttempts(MEMORY);
  const ofNetworks = (limit: number): ReadonlyMap<number, AttemptQueue> =>
    new Map(
      TIMES.map((times) => [times, createAttemptQueue(store, { limit: limit * times, blocked, window })]),
    );
  const pairs = ofNetworks(perAccountAndAddress);
  const addresses = ofNetworks(perAddress);
  const accounts = createAttemptQueue(store, { limit: perAccount, blocked, window });
  const devices = createAttemptQueue(store, { limit: perDevice, blocked, window });

  // In this order: what a network is refused for one account counts neither for the network nor for the account.
  function stepsOf(login: string, { address, browser }: LoginOrigin): readonly Step[] {
    if (browser !== undefined) {
      return [{ queue: devices, id: idOf('login device', browser), onSuccess: 'forgotten' }];
    }
    const account = accountOf(login);
    const networks = networksOf(address);
    return [
      ...networks.map(({ name, times }, index): Step => {
        const onSuccess = index === 0 ? 'forgotten' : 'given back';
        return { queue: pairs.get(times)!, id: idOf('login', account, name), onSuccess };
      }),
      // Not forgotten: one account of their own must not give somebody new attempts at all others.
      ...networks.map(({ name, times }): Step => ({
        queue: addresses.get(times)!,
        id: idOf('login address', name),
        onSuccess: 'given back',
      })),
      { queue: accounts, id: idOf('login account', account), onSuccess: 'given back' },
    ];
  }

  async function end(steps: readonly Step[], endingOf: (step: Step) => Ending): Promise<void> {
    await Promise.all(
      steps.map(async (step) => {
        try {
          await step.queue.end(step.id, endingOf(step));
        } catch (error) {
          // It counts as failed until the window ends. What is known about the password is known.
          logger.warn({ err: error }, 'attempt count not restored after a login that did not fail');
        }
      }),
    );
  }

  return {
    async attempt(login, from, check) {
      const steps = stepsOf(login, from);
      for (const { queue, id } of steps) queue.check(id);
      const taken: Step[] = [];
      try {
        for (const step of steps) {
          await step.queue.take(step.id);
          taken.push(step);
        }
        const found = await check();
        const ended = taken.splice(0);
        await end(ended, ({ onSuccess }) => (found === undefined ? 'counted' : onSuccess));
        return found;
      } finally {
        await end(taken, () => 'given back');
      }
    },
  };
}

/** Lets everybody try. */
export const unlimitedLogins: LoginThrottle = {
  attempt: async (_login, _from, check) => check(),
};
