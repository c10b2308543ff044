import { setTimeout as waitFor } from 'node:timers/promises';

import { TooManyAttemptsError } from '../errors.ts';
import { hashCredential } from './hash.ts';

// Different values of one client. Who has the right one tries again.
const MOST_WAITING = 8;

// In seconds.
const RETRY_AFTER = 5;

// After each wrong value, for so many times as long as its check took, the thread is left to other requests.
const REST = 4;

/**
 * Runs a check of a value that a client presents; `undefined`: it is wrong.
 *
 * @throws TooManyAttemptsError when too many values of the client wait
 */
export type RunSlowCheck<T> = (
  clientId: string,
  presented: string,
  check: () => Promise<T | undefined>,
) => Promise<T | undefined>;

interface Waiting<T> {
  readonly check: () => Promise<T | undefined>;
  readonly result: PromiseWithResolvers<T | undefined>;
}

/** Runs slow checks one at a time, each client in its turn, because anybody can send wrong values. */
export function createSlowChecks<T>(): RunSlowCheck<T> {
  // By client, and by the hash of the value: who sends the same one at once shares the answer.
  const clients = new Map<string, Map<string, Waiting<T>>>();
  let isWorking = false;

  async function work(): Promise<void> {
    isWorking = true;
    // A client that is put in again goes to the end, where this same loop finds it.
    for (const [clientId, values] of clients) {
      const [value, { check, result }] = [...values][0]!;
      const startedAt = performance.now();
      result.resolve(check());
      const found = await result.promise.catch(() => undefined);
      const took = performance.now() - startedAt;
      values.delete(value);
      clients.delete(clientId);
      if (values.size > 0) clients.set(clientId, values);
      if (found === undefined) await waitFor(took * REST, undefined, { ref: false });
    }
    isWorking = false;
  }

  return async function runSlowCheck(clientId, presented, check) {
    const values = clients.get(clientId) ?? new Map<string, Waiting<T>>();
    const value = hashCredential(presented);
    let waiting = values.get(value);
    if (!waiting) {
      if (values.size >= MOST_WAITING) throw new TooManyAttemptsError(RETRY_AFTER);
      waiting = { check, result: Promise.withResolvers() };
      clients.set(clientId, values.set(value, waiting));
      if (!isWorking) void work();
    }
    return waiting.result.promise;
  };
}
