import { now } from '../clock.ts';
import type { AttemptStore, ClientThrottle } from '../contracts.ts';
import type { AttemptId } from './ids.ts';
import { networkOf } from './network.ts';
import { createRefusals } from './refusals.ts';

/** How many authentications of clients may fail within a time. */
export interface ClientLimits {
  readonly perClientAndAddress: number;
  readonly perAddress: number;
  /** In seconds. */
  readonly window: number;
}

/**
 * Throttles the authentication of clients, for each client and address, and for each address. There is no limit for a
 * client over all addresses: strangers could lock it out.
 *
 * Only failures are counted, after they have happened. What is counted is shared by all nodes, while each of them refuses
 * by what it remembers: a node that has seen no failure looks nothing up.
 */
export function createClientThrottle(
  store: AttemptStore,
  { idOf, limits }: { readonly idOf: AttemptId; readonly limits: ClientLimits },
): ClientThrottle {
  const { perAddress, perClientAndAddress, window } = limits;
  const refusals = createRefusals(window);

  function idsOf(clientId: string, address: string): { readonly pair: string; readonly network: string } {
    const network = networkOf(address);
    return { pair: idOf('client', clientId, network), network: idOf('client address', network) };
  }

  async function count(id: string, limit: number): Promise<void> {
    refusals.check(id);
    const at = now();
    const end = await store.count(id, { limit, now: at, expiresAt: at + window });
    if (end !== undefined) refusals.refuse(id, end);
  }

  return {
    check(clientId, address) {
      if (refusals.isEmpty) return;
      const { network, pair } = idsOf(clientId, address);
      refusals.check(pair);
      refusals.check(network);
    },
    async countFailure(clientId, address) {
      const { network, pair } = idsOf(clientId, address);
      refusals.check(network);
      await count(pair, perClientAndAddress);
      await count(network, perAddress);
    },
  };
}

/** Lets everybody try. */
export const unlimitedClients: ClientThrottle = {
  check() {},
  async countFailure() {},
};
