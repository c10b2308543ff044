import { setTimeout as delay } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import { now } from '../contracts/clock.ts';
import type { Logger, Milliseconds, RemoteWaits, Seconds } from '../contracts/index.ts';
import type { PublicDocument, PublicFetch } from '../http/public-fetch.ts';
import { PublicFetchError } from '../http/public-request.ts';
import { LONGEST_KEY_SET, usableKeys } from './public-keys.ts';
import type { PublicKey } from './public-keys.ts';

/** The public keys of a client or of an issuer. While the keys stay the same, so does the object. */
export interface KeySet {
  readonly keys: readonly PublicKey[];
}

/** The keys at the `jwks_uri`s of clients or issuers. */
export interface RemoteKeys {
  /**
   * The keys for an assertion.
   *
   * @param keyId - the `kid` of the assertion; `undefined` when it names none
   * @param address - the address of the requester
   * @returns the keys, or why there are none, for the log
   * @throws TooManyAttemptsError when too many requests wait for keys and documents
   */
  find(
    jwksUri: string,
    keyId: string | undefined,
    address: string,
  ): Promise<KeySet | { readonly problem: string }>;
}

interface CachedKeys {
  set: KeySet | undefined;
  /** Until when a key in the set is used without another fetch. */
  freshUntil: Seconds;
  fetchedAt: Seconds;
  /** When the last fetch began, whatever became of it. */
  triedAt: Seconds;
  problem: string;
  running: Promise<void> | undefined;
}

// A key that was removed from its URL is refused within five minutes.
export const MOST_FRESH: Seconds = 300;
// Also the least time between two fetches of one URL: anyone can cause a fetch with an assertion that names an unknown key.
export const LEAST_PAUSE = 60;
// How long before the end of their lifetime keys are fetched again, so that a client that often authenticates never waits for them.
const AHEAD = 30;
// How long keys are used while their URL does not answer.
export const USABLE = 3600;
// A set takes up to 8 kB.
const MOST_SETS = 1000;

/**
 * Keeps the keys at `jwks_uri`s. A URL is fetched when its keys are five minutes old, and when an assertion names a key that is not among
 * them, at most once a minute on each node. Requests for the same URL wait for one fetch, as many of them as `waits` has places for. Those
 * that name an unknown key wait only while there are no keys, because anybody can name an unknown key; where the URLs are trusted, they wait
 * for the fetch that they cause, so that an issuer can sign with a new key at once.
 */
export function createRemoteKeys(
  publicFetch: PublicFetch,
  {
    isTrusted = false,
    logger,
    of = 'a client',
    waits,
  }: {
    /** Whether the URLs are those of the options, so that no stranger has chosen one that is slow. */
    readonly isTrusted?: boolean;
    readonly logger: Logger;
    /** Whose keys they are, for the log. */
    readonly of?: string;
    readonly waits: RemoteWaits;
  },
): RemoteKeys {
  const entries = new LRUCache<string, CachedKeys>({ max: MOST_SETS });

  async function refresh(entry: CachedKeys, jwksUri: string): Promise<void> {
    const before = entry.triedAt;
    entry.triedAt = now();
    try {
      const { maxAge = MOST_FRESH, value } = await getWhenFree(publicFetch, jwksUri);
      entry.set = { keys: usableKeys(value) };
      entry.fetchedAt = entry.triedAt;
      entry.freshUntil = entry.triedAt + Math.min(Math.max(maxAge, LEAST_PAUSE), MOST_FRESH);
    } catch (error) {
      // Nothing was sent to the URL.
      if (isBusy(error)) entry.triedAt = before;
      entry.problem = (error as Error).message;
      logger.warn({ err: error, jwks_uri: jwksUri }, `fetching the keys of ${of} failed`);
    } finally {
      entry.running = undefined;
    }
  }

  return {
    async find(jwksUri, keyId, address) {
      const entry = entries.get(jwksUri) ?? newEntry();
      entries.set(jwksUri, entry);
      const at = now();
      const isKnown = keyId === undefined || (entry.set?.keys.some(({ kid }) => kid === keyId) ?? false);
      const isDue = !isKnown || at >= entry.freshUntil - AHEAD;
      if (isDue && !entry.running && at - entry.triedAt >= LEAST_PAUSE)
        entry.running = refresh(entry, jwksUri);
      const { running } = entry;
      const mustWait = usableSet(entry) === undefined || (isKnown ? at >= entry.freshUntil : isTrusted);
      if (running && mustWait) await waits.wait({ url: jwksUri, address }, async () => running);
      return usableSet(entry) ?? { problem: entry.problem };
    },
  };
}

// 2 seconds in total.
const BUSY_PAUSE: Milliseconds = 100;
const BUSY_TRIES = 20;

/** Waits while the host of the URL answers other requests, such as those for the keys of its other clients. */
async function getWhenFree(publicFetch: PublicFetch, url: string): Promise<PublicDocument> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await publicFetch(url, { maxBytes: LONGEST_KEY_SET });
    } catch (error) {
      if (!isBusy(error) || tries >= BUSY_TRIES) throw error;
    }
    await delay(BUSY_PAUSE);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof PublicFetchError && error.reason === 'busy';
}

function usableSet({ fetchedAt, set }: CachedKeys): KeySet | undefined {
  return now() - fetchedAt < USABLE ? set : undefined;
}

function newEntry(): CachedKeys {
  return { set: undefined, freshUntil: 0, fetchedAt: 0, triedAt: 0, problem: '', running: undefined };
}
