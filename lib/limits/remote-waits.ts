import type { RemoteWaits, Seconds } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { createPlaces } from '../http/places.ts';
import { perNetwork } from './networks.ts';

// Also where there is no limit of requests: three for each document that may be fetched at once.
const MOST_WAITING = 100;

// How long a document may take.
const RETRY: Seconds = 5;

/**
 * Bounds the requests that wait for what a stranger can make slow, so that the others keep their places: to a tenth of `limits.requests`,
 * and of these to a tenth from one address and to a fifth for one URL, so that no address takes the places of all that have to wait.
 */
export function createRemoteWaits({ requests }: { readonly requests: number }): RemoteWaits {
  const most = requests === 0 ? MOST_WAITING : Math.min(MOST_WAITING, Math.ceil(requests / 10));
  const ofAddress = Math.ceil(most / 10);
  const ofUrl = Math.ceil(most / 5);
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
