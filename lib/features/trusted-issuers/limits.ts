import type { Limit } from '../../limits/limiter.ts';
import { perNetwork } from '../../limits/networks.ts';

/** A request with an assertion. */
export interface AssertionAttempt {
  readonly address: string;
}

/**
 * Forged assertions: those that no trusted issuer has signed. They count as wrong secrets do, per address with its networks. An assertion
 * that an issuer has signed and that is refused does not count: the agents of a platform have one address, and each user may have ended one.
 */
export function forgedLimit({
  perAddress,
  window,
}: {
  readonly perAddress: number;
  readonly window: number;
}): Limit<AssertionAttempt> {
  return {
    window,
    keysOf: ({ address }) => perNetwork(address, { key: ['forged assertion address'], limit: perAddress }),
  };
}
