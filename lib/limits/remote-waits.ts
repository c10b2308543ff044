import type { RemoteWaits } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { networksOf } from './networks.ts';

// Also where there is no limit of requests: three for each document that may be fetched at once.
const MOST_WAITING = 100;

// In seconds: how long a document may take.
const RETRY = 5;

/**
 * Bounds the requests that wait for what a stranger can make slow, so that the others keep their places: to a tenth of `limits.requests`,
 * and of these to a tenth from one address and to a fifth for one URL, so that no address takes the places of all that have to wait.
 */
export function createRemoteWaits({ requests }: { readonly requests: number }): RemoteWaits {
  const most = requests === 0 ? MOST_WAITING : Math.min(MOST_WAITING, Math.ceil(requests / 10));
  const ofAddress = Math.ceil(most / 10);
  const ofUrl = Math.ceil(most / 5);
  const waiting = new Map<string, number>();

  return {
    async wait({ address, url }, read) {
      const places = [
        { id: 'all', limit: most },
        { id: `url ${url}`, limit: ofUrl },
        ...networksOf(address).map(({ multiplier, name }) => ({
          id: `network ${name}`,
          limit: multiplier * ofAddress,
        })),
      ];
      if (places.some(({ id, limit }) => (waiting.get(id) ?? 0) >= limit))
        throw new TooManyAttemptsError(RETRY);
      for (const { id } of places) waiting.set(id, (waiting.get(id) ?? 0) + 1);
      try {
        return await read();
      } finally {
        for (const { id } of places) {
          const left = waiting.get(id)! - 1;
          if (left > 0) waiting.set(id, left);
          else waiting.delete(id);
        }
      }
    },
  };
}
