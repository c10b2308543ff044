import type { AttemptStore, Logger, LoginThrottle } from '../contracts.ts';
import { accountOf } from './account.ts';
import type { AttemptId } from './ids.ts';
import { networkOf } from './network.ts';
import { createTurns } from './turns.ts';
import type { Ending, Turns } from './turns.ts';

/** How many logins may fail within a time. */
export interface LoginLimits {
  readonly perAccountAndAddress: number;
  readonly perAccount: number;
  readonly perAddress: number;
  /** In seconds. */
  readonly window: number;
}

interface Step {
  readonly turns: Turns;
  readonly id: string;
  /** What becomes of the attempt when the login is right. */
  readonly onSuccess: Ending;
}

/**
 * Throttles logins: tightly for one account from one address, loosely for an account over all addresses, so that a
 * stranger who fails on purpose does not keep its owner out, and for an address over all accounts.
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
  const { perAccount, perAccountAndAddress, perAddress, window } = limits;
  const pairs = createTurns(store, { limit: perAccountAndAddress, window });
  const addresses = createTurns(store, { limit: perAddress, window });
  const accounts = createTurns(store, { limit: perAccount, window });

  // In this order: what an address is refused for one account counts neither for the address nor for the account.
  function stepsOf(login: string, address: string): readonly Step[] {
    const [account, network] = [accountOf(login), networkOf(address)];
    return [
      { turns: pairs, id: idOf('login', account, network), onSuccess: 'forgotten' },
      // Not forgotten: one account of their own must not give somebody new attempts at all others.
      { turns: addresses, id: idOf('login address', network), onSuccess: 'given back' },
      { turns: accounts, id: idOf('login account', account), onSuccess: 'given back' },
    ];
  }

  async function end(steps: readonly Step[], endingOf: (step: Step) => Ending): Promise<void> {
    await Promise.all(
      steps.map(async (step) => {
        try {
          await step.turns.end(step.id, endingOf(step));
        } catch (error) {
          // It counts as failed until the window ends. What is known about the password is known.
          logger.warn({ err: error }, 'a login that did not fail was not given back');
        }
      }),
    );
  }

  return {
    async attempt(login, address, check) {
      const steps = stepsOf(login, address);
      for (const { turns, id } of steps) turns.check(id);
      const taken: Step[] = [];
      try {
        for (const step of steps) {
          await step.turns.take(step.id);
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
  attempt: async (_login, _address, check) => check(),
};
