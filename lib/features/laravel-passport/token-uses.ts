import { LRUCache } from 'lru-cache';

import type { WaitingUse } from '../../clients/last-use.ts';
import { CACHE_BOUND } from '../../contracts/cache-bound.ts';
import { now } from '../../contracts/clock.ts';
import type { Seconds } from '../../contracts/index.ts';
import type { CoreBase } from '../core.ts';
import type { PassportStore, PassportUse } from './types.ts';

const INTERVAL: Seconds = 3600;

// A batch is one transaction, which other requests wait for on SQLite.
const BATCH = 100;

/**
 * Records which tokens of Passport are used, so that an operator sees which apps still use some. No request waits for the writes, which
 * are made in batches within seconds, and a record may be lost. Only tokens that were found valid are recorded: a stranger cannot add
 * any.
 */
export interface TokenUses {
  /** Records that a token was used, at most once an hour. Never throws. */
  readonly used: (token: Omit<PassportUse, 'at'>) => void;
}

export function createTokenUses(
  { audit, lastUses }: Pick<CoreBase, 'audit' | 'lastUses'>,
  store: Pick<PassportStore, 'record'>,
): TokenUses {
  const usedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  let waiting: PassportUse[] = [];
  const batch: WaitingUse = {
    about: {},
    what: 'tokens of Passport',
    async write() {
      const uses = waiting.slice(0, BATCH);
      if (uses.length === 0) return;
      waiting = waiting.slice(BATCH);
      try {
        await store.record(uses);
      } catch (error) {
        // Unlike other uses, these are kept: the storage may be unreachable.
        waiting.unshift(...uses);
        throw error;
      } finally {
        if (waiting.length > 0) lastUses.add(batch);
      }
    },
  };

  return {
    used(token) {
      const at = now();
      if (at - (usedAt.get(token.id) ?? 0) < INTERVAL || lastUses.isFull() || waiting.length >= MOST) return;
      usedAt.set(token.id, at);
      const { clientId, kind } = token;
      audit.record({ type: 'passport_token_used', clientId, kind });
      waiting.push({ ...token, at });
      if (waiting.length === 1) lastUses.add(batch);
    },
  };
}

// Beyond this number, a use is left to a later request.
const MOST = 10_000;
