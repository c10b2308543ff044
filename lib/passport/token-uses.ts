import { LRUCache } from 'lru-cache';

import { createWriteQueue } from '../clients/write-queue.ts';
import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { Logger, PassportUse, PassportUseStore, Seconds } from '../contracts/index.ts';

const INTERVAL: Seconds = 3600;

// A batch is one transaction, which other requests wait for on SQLite.
const BATCH = 100;

/**
 * Records which tokens of Passport are used, so that an operator sees which apps still have some. No request waits for the writes, which
 * are made in batches within seconds, and a record may be lost. Only tokens that were found valid are recorded: a stranger cannot add any.
 */
export interface TokenUses {
  /** Records that a token was used, at most once an hour. Never throws. */
  readonly used: (token: Omit<PassportUse, 'at'>) => void;
  /** Resolves when the recorded uses are written. Those after a batch that fails are left. */
  written(this: void): Promise<void>;
}

/** @param onUse - called with each use that is recorded */
export function createTokenUses(
  store: Pick<PassportUseStore, 'record'>,
  { logger, onUse }: { readonly logger: Logger; readonly onUse: (use: PassportUse) => void },
): TokenUses {
  const usedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const { add, isFull, written } = createWriteQueue<PassportUse>(async (waiting) => {
    const batch = waiting.splice(0, BATCH);
    try {
      await store.record(batch);
      return true;
    } catch (error) {
      // Unlike other uses these are not lost: the storage may be unreachable.
      waiting.unshift(...batch);
      logger.warn({ err: error }, 'recording the use of tokens of Passport failed');
      return false;
    }
  });

  return {
    used(token) {
      const at = now();
      if (at - (usedAt.get(token.id) ?? 0) < INTERVAL || isFull()) return;
      usedAt.set(token.id, at);
      const use = { ...token, at };
      onUse(use);
      add(use);
    },
    written,
  };
}
