import type { RemoteWaits, Seconds } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { createPlaces } from '../http/places.ts';
import { perNetwork } from './networks.ts';

// Applies also where requests have no limit: three for each document that may be fetched at once.
export const MOST_WAITING = 100;

/** Which part of the places of all requests may wait, and which part of those one address and one URL gets. */
export const PARTS = { ofConcurrency: 10, ofAddress: 10, ofUrl: 5 } as const;

// How long a document may take to arrive.
const RETRY: Seconds = 5;

/**
 * Limits the requests that wait for something that a stranger can make slow, so that other requests keep their places. At most a tenth of
 * `limits.concurrency` may wait; of these places, one address gets a tenth and one URL a fifth, so that no address takes all of them.
 */
export function createRemoteWaits({ concurrency }: { readonly concurrency: number }): RemoteWaits {
  const most =
    concurrency === 0 ? MOST_WAITING : Math.min(MOST_WAITING, Math.ceil(concurrency / PARTS.ofConcurrency));
  const ofAddress = Math.ceil(most / PARTS.ofAddress);
  const ofUrl = Math.ceil(most / PARTS.ofUrl);
  const take = createPlaces();

  return {
    async wait({ address, url }, read) {
      const wanted = [
        { key: ['all'], limit: most },
        { key: ['url', url], limit: ofUrl },
        ...perNetwork(address, { key: ['network'], limit: ofAddress }),
      ];
      const leave = take(wanted.map(({ key, limit }) => ({ id: key.join(' '), limit })));
      if (!leave) throw new TooManyAttemptsError(RETRY);
      try {
        return await read();
      } finally {
        leave();
      }
    },
  };
}
