import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { Logger, PassportUse, PassportUseStore } from '../contracts/index.ts';

// In seconds.
const INTERVAL = 3600;

// In milliseconds, until recorded uses are written.
const DELAY = 1000;

// A batch is one transaction, which other requests wait for on SQLite.
const BATCH = 100;

// Uses beyond this number are recorded by a later request.
const MOST_WAITING = 10_000;

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
  const usedAt = new LRUCache<string, number>(CACHE_BOUND);
  let waiting: PassportUse[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  async function startWriting(): Promise<void> {
    writing ??= writeWaiting().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH);
      try {
        await store.record(batch);
      } catch (error) {
        // The storage may be unreachable. The others, and these, are written after the next use.
        waiting = batch.concat(waiting);
        logger.warn({ err: error }, 'recording the use of tokens of Passport failed');
        return;
      }
    }
  }

  return {
    used(token) {
      const at = now();
      if (at - (usedAt.get(token.id) ?? 0) < INTERVAL || waiting.length >= MOST_WAITING) return;
      usedAt.set(token.id, at);
      const use = { ...token, at };
      onUse(use);
      waiting.push(use);
      timer ??= setTimeout(() => {
        timer = undefined;
        void startWriting();
      }, DELAY).unref();
    },
    async written() {
      await writing;
      if (waiting.length > 0) await startWriting();
    },
  };
}
