import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../../contracts/cache-bound.ts';
import { now } from '../../contracts/clock.ts';
import type { Seconds } from '../../contracts/index.ts';
import { addressOf } from '../../http/request.ts';
import { knownAddress } from '../../http/request.ts';
import type { Core } from '../core.ts';
import type { PersonalToken, PersonalTokenStore, PersonalTokenUse } from './types.ts';

const INTERVAL: Seconds = 3600;

/** Records that a personal access token was used, at most once an hour for each network. Never throws. */
export type RecordUse = (
  token: Pick<PersonalToken, 'id' | 'name' | 'userId'>,
  from: Pick<PersonalTokenUse, 'address' | 'network'>,
) => void;

export function createRecordUse(
  { audit, lastUses }: Pick<Core, 'audit' | 'lastUses'>,
  store: Pick<PersonalTokenStore, 'recordUse'>,
): RecordUse {
  const usedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  return ({ id, name, userId }, { address, network }) => {
    const at = now();
    const key = `${id} ${network}`;
    if (at - (usedAt.get(key) ?? 0) < INTERVAL || lastUses.isFull()) return;
    usedAt.set(key, at);
    lastUses.add({
      about: { token_id: id },
      what: 'a personal access token',
      async write() {
        const known = addressOf(address) ?? '';
        const isNew = await store.recordUse(id, { at, address: knownAddress(known), network });
        if (isNew) audit.record({ type: 'personal_token_used', userId, tokenId: id, name }, { address });
      },
    });
  };
}
