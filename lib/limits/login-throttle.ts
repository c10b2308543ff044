import type { AttemptCounter, AttemptStore, Logger, LoginOrigin, LoginThrottle } from '../contracts/index.ts';
import { normalizeLogin, networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createLimiter } from './limiter.ts';
import { createAttemptsUnderWay } from './login-attempts.ts';

// In seconds. An attempt that another node gives back is noticed after this time.
const REMEMBERED = 10;

/** How many logins may fail within a window of time. */
export interface LoginLimits {
  readonly perAccountAndAddress: number;
  readonly perAccount: number;
  readonly perAddress: number;
  readonly perDevice: number;
  /** In seconds. */
  readonly window: number;
}

interface LoginCounter extends AttemptCounter {
  /** Whether a successful login resets it, so that the failed ones before it do not count any more. */
  readonly isReset: boolean;
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
  const limiter = createLimiter(store, { window, remembered: REMEMBERED });
  const attempts = createAttemptsUnderWay(limiter);

  function countersOf(login: string, { address, browser }: LoginOrigin): readonly LoginCounter[] {
    if (browser !== undefined)
      return [{ id: idOf('login device', browser), limit: perDevice, isReset: true }];
    const account = normalizeLogin(login);
    const networks = networksOf(address);
    return [
      ...networks.map(({ name, multiplier }, index) => ({
        id: idOf('login', account, name),
        limit: perAccountAndAddress * multiplier,
        isReset: index === 0,
      })),
      // Not reset: otherwise an attacker could reset the counter of the address by logging in to an account of their own.
      ...networks.map(({ name, multiplier }) => ({
        id: idOf('login address', name),
        limit: perAddress * multiplier,
        isReset: false,
      })),
      { id: idOf('login account', account), limit: perAccount, isReset: false },
    ];
  }

  async function giveBack(counters: readonly LoginCounter[], isSuccess: boolean): Promise<void> {
    try {
      await attempts.end(counters, true, isSuccess ? counters.filter(({ isReset }) => isReset) : []);
    } catch (error) {
      // The attempt stays counted until the window ends. The result of the password check is returned all the same.
      logger.warn({ err: error }, 'attempt count not restored after a login that did not fail');
    }
  }

  return {
    async attempt(login, from, check) {
      const counters = countersOf(login, from);
      const sequence = await attempts.take(counters);
      let found: Awaited<ReturnType<typeof check>>;
      try {
        found = await check(sequence);
      } catch (error) {
        await giveBack(counters, false);
        throw error;
      }
      if (found === undefined) await attempts.end(counters, false);
      else await giveBack(counters, true);
      return found;
    },
  };
}

/** Used when the option turns the throttling of logins off. */
export const unlimitedLogins: LoginThrottle = {
  attempt: async (_login, _from, check) => check(undefined),
};
