import type { AttemptStore, Logger, LoginOrigin, LoginThrottle } from '../contracts/index.ts';
import { normalizeLogin, networksOf, MULTIPLIERS } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createAttemptQueue, createBlockedAttempts } from './attempts.ts';
import type { Ending, AttemptQueue } from './attempts.ts';

// In seconds. An attempt that another node gives back is noticed after this time.
const BLOCK_SECONDS = 10;

/** How many logins may fail within a window of time. */
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
  /** How the attempt ends when the login succeeds. */
  readonly onSuccess: Ending;
}

/**
 * Throttles logins. A low limit applies to an account from one address, higher limits to an account from all addresses and to
 * an address for all accounts; the limits of an address apply to its networks too, multiplied. A browser on which the account
 * has logged in before has a limit of its own instead, so that an attacker who fails on purpose cannot lock the user out.
 *
 * Each attempt is counted in the storage before its password is checked, so that concurrent attempts on any number of nodes do
 * not exceed the limits; a successful one is given back. When the storage fails, the password is not checked.
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
  const blocked = createBlockedAttempts(BLOCK_SECONDS);
  const queuesByMultiplier = (limit: number): ReadonlyMap<number, AttemptQueue> =>
    new Map(
      MULTIPLIERS.map((multiplier) => [
        multiplier,
        createAttemptQueue(store, { limit: limit * multiplier, blocked, window }),
      ]),
    );
  const pairs = queuesByMultiplier(perAccountAndAddress);
  const addresses = queuesByMultiplier(perAddress);
  const accounts = createAttemptQueue(store, { limit: perAccount, blocked, window });
  const devices = createAttemptQueue(store, { limit: perDevice, blocked, window });

  // In this order, so that an attempt refused for a pair of account and network counts neither for the network nor the account.
  function attemptSteps(login: string, { address, browser }: LoginOrigin): readonly Step[] {
    if (browser !== undefined) {
      return [{ queue: devices, id: idOf('login device', browser), onSuccess: 'forgotten' }];
    }
    const account = normalizeLogin(login);
    const networks = networksOf(address);
    return [
      ...networks.map(({ name, multiplier }, index): Step => {
        const onSuccess = index === 0 ? 'forgotten' : 'given back';
        return { queue: pairs.get(multiplier)!, id: idOf('login', account, name), onSuccess };
      }),
      // Not 'forgotten': otherwise an attacker could reset the counter of the address by logging in to an account of their own.
      ...networks.map(({ name, multiplier }): Step => ({
        queue: addresses.get(multiplier)!,
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
          // The attempt stays counted until the window ends. The result of the password check is returned all the same.
          logger.warn({ err: error }, 'attempt count not restored after a login that did not fail');
        }
      }),
    );
  }

  return {
    async attempt(login, from, check) {
      const steps = attemptSteps(login, from);
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

/** Used when the option turns the throttling of logins off. */
export const unlimitedLogins: LoginThrottle = {
  attempt: async (_login, _from, check) => check(),
};
