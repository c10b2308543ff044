import type { AuditLog, AuditOrigin, PersonalToken, PersonalTokenStore } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';

/** Ends personal access tokens, with an audit event. Both resolve to `false` when there is none. */
export interface EndPersonalToken {
  byId(this: void, id: string, origin?: AuditOrigin): Promise<boolean>;
  /** By its value, as anybody may who has found it. */
  byValue(this: void, value: string, origin?: AuditOrigin): Promise<boolean>;
}

export function createEndPersonalToken(
  store: Pick<PersonalTokenStore, 'delete' | 'find' | 'findByHash'>,
  audit: Pick<AuditLog, 'record'>,
): EndPersonalToken {
  async function end({ id, name, userId }: PersonalToken, origin?: AuditOrigin): Promise<boolean> {
    const isEnded = await store.delete(id);
    if (isEnded) audit.record({ type: 'personal_token_ended', userId, tokenId: id, name }, origin);
    return isEnded;
  }

  return {
    async byId(id, origin) {
      const token = await store.find(id);
      // Without one too: the storage waits until an earlier deletion is sure to last.
      return token ? end(token, origin) : store.delete(id);
    },
    async byValue(value, origin) {
      const token = await store.findByHash(hashCredential(value));
      return token !== undefined && end(token, origin);
    },
  };
}
