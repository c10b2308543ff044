import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { networksOf } from './attempt-ids.ts';

// In seconds.
const WINDOW = 300;
const PER_ADDRESS = 20;
const PER_HOST = 60;
// Of those, so that an address does not keep the apps of a host from everybody.
const PER_HOST_AND_ADDRESS = 6;

/**
 * Limits how often strangers make this node fetch documents, or wait for one: for one address and its networks, so that one of them
 * cannot use up what a node fetches, and for one host, so that this server is no tool for attacking another one. The counters are
 * those of the node, because a write per request of a stranger would cost more than the fetch.
 *
 * @returns counts a fetch from a host; without one, a request that waits for a fetch of another
 * @throws TooManyAttemptsError when there were too many in the last minutes; nothing is counted then
 */
export function createFetchLimit(): (address: string, host?: string) => void {
  const counters = new LRUCache<string, { count: number; readonly end: number }>(CACHE_BOUND);

  return (address, host) => {
    const at = now();
    const networks = networksOf(address);
    const ofHost = [
      { id: `host ${host}`, limit: PER_HOST },
      ...networks.map(({ multiplier, name }) => ({
        id: `host ${host} ${name}`,
        limit: multiplier * PER_HOST_AND_ADDRESS,
      })),
    ];
    const counted = [
      ...(host === undefined ? [] : ofHost),
      ...networks.map(({ multiplier, name }) => ({ id: `address ${name}`, limit: multiplier * PER_ADDRESS })),
    ].map(({ id, limit }) => {
      const counter = counters.get(id);
      const isOpen = counter !== undefined && counter.end > at;
      return { id, limit, counter: isOpen ? counter : { count: 0, end: at + WINDOW } };
    });
    for (const { counter, limit } of counted)
      if (counter.count >= limit) throw new TooManyAttemptsError(counter.end - at);
    for (const { counter, id } of counted) {
      counter.count += 1;
      counters.set(id, counter);
    }
  };
}
