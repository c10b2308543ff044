import { now } from '../contracts/clock.ts';
import type {
  AttemptStore,
  ClientThrottle,
  KnownBrowsers,
  Logger,
  LoginThrottle,
} from '../contracts/index.ts';
import { createAttemptId, networksOf } from './attempt-ids.ts';
import type { AttemptId } from './attempt-ids.ts';
import { createBlockedAttempts } from './attempts.ts';
import { createKnownBrowsers } from './known-browsers.ts';
import { createLoginThrottle, unlimitedLogins } from './login-throttle.ts';
import type { LoginLimits } from './login-throttle.ts';

/** What of a server can be guessed at. */
interface Throttles {
  readonly logins: LoginThrottle;
  /** `undefined`: logins are not throttled, so there is nothing that a browser has to be known for. */
  readonly browsers: KnownBrowsers | undefined;
  readonly clients: ClientThrottle;
}

export function createThrottles(
  store: AttemptStore,
  {
    logger,
    secrets,
    throttling,
  }: {
    readonly logger: Logger;
    /** The same on every node, newest first. */
    readonly secrets: readonly string[];
    readonly throttling: {
      readonly login: (LoginLimits & { readonly deviceLifetime: number }) | undefined;
      readonly clientAuthentication: ClientLimits | undefined;
    };
  },
): Throttles {
  const idOf = createAttemptId(secrets[0]!);
  const { clientAuthentication, login } = throttling;
  return {
    logins: login ? createLoginThrottle(store, { idOf, limits: login, logger }) : unlimitedLogins,
    browsers: login && createKnownBrowsers(secrets, login.deviceLifetime),
    clients: clientAuthentication
      ? createClientThrottle(store, { idOf, limits: clientAuthentication })
      : unlimitedClients,
  };
}

/** How many authentications of clients may fail within a time. */
interface ClientLimits {
  readonly perClientAndAddress: number;
  readonly perAddress: number;
  /** In seconds. */
  readonly window: number;
}

/**
 * Throttles the authentication of clients, for each client and address, and for each address, and for the networks that the
 * address is in. There is no limit for a client over all addresses: strangers could lock it out.
 *
 * Only failures are counted, after they have happened. What is counted is shared by all nodes, while each of them refuses
 * by what it remembers: a node that has seen no failure looks nothing up.
 */
function createClientThrottle(
  store: AttemptStore,
  { idOf, limits }: { readonly idOf: AttemptId; readonly limits: ClientLimits },
): ClientThrottle {
  const { perAddress, perClientAndAddress, window } = limits;
  const blocked = createBlockedAttempts(window);

  // Those of the client first: what is refused there does not count for all clients.
  function countersOf(clientId: string, address: string): readonly { id: string; limit: number }[] {
    const networks = networksOf(address);
    return [
      ...networks.map(({ name, times }) => ({
        id: idOf('client', clientId, name),
        limit: times * perClientAndAddress,
      })),
      ...networks.map(({ name, times }) => ({ id: idOf('client address', name), limit: times * perAddress })),
    ];
  }

  async function count(id: string, limit: number): Promise<void> {
    blocked.check(id);
    const at = now();
    const end = await store.count(id, { limit, now: at, expiresAt: at + window });
    if (end !== undefined) blocked.refuse(id, end);
  }

  return {
    check(clientId, address) {
      if (blocked.isEmpty) return;
      for (const { id } of countersOf(clientId, address)) blocked.check(id);
    },
    async countFailure(clientId, address) {
      const counters = countersOf(clientId, address);
      for (const { id } of counters) blocked.check(id);
      for (const { id, limit } of counters) await count(id, limit);
    },
  };
}

/** Lets everybody try. */
const unlimitedClients: ClientThrottle = {
  check() {},
  async countFailure() {},
};
