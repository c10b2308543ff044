import { confirmAbsence } from '../../contracts/confirm-absence.ts';
import type { AuditLog, AuditOrigin, Storage, StoredChange } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { PersonalToken, PersonalTokenStore } from './types.ts';

/** Ends personal access tokens, with an audit event. Each method resolves to `false` when there is no such token. */
export interface EndPersonalToken {
  byId(this: void, id: string, origin?: AuditOrigin): Promise<boolean>;
  /** Ends a token by its id, if it is a token of the user. */
  ofUser(this: void, userId: string, id: string, origin?: AuditOrigin): Promise<boolean>;
  /** Ends a token by its value: anybody who has found a token may end it. */
  byValue(this: void, value: string, origin?: AuditOrigin): Promise<boolean>;
}

export function createEndPersonalToken(
  store: Pick<PersonalTokenStore, 'delete' | 'find' | 'findByHash'>,
  {
    announce,
    audit,
    storage,
  }: {
    readonly announce: (change: StoredChange) => void;
    readonly audit: Pick<AuditLog, 'record'>;
    readonly storage: Pick<Storage, 'confirm'>;
  },
): EndPersonalToken {
  async function end(finding: Promise<PersonalToken | undefined>, origin?: AuditOrigin): Promise<boolean> {
    const token = await confirmAbsence(storage, finding);
    if (!token) return false;
    const { id, name, userId } = token;
    const isEnded = await store.delete(id);
    announce({ tokenId: id });
    if (isEnded) audit.record({ type: 'personal_token_revoked', userId, tokenId: id, name }, origin);
    return isEnded;
  }

  return {
    async byId(id, origin) {
      const isEnded = await end(store.find(id), origin);
      // Another node may have ended the token a moment ago, while this node has it cached.
      if (!isEnded) announce({ tokenId: id });
      return isEnded;
    },
    async ofUser(userId, id, origin) {
      const finding = store.find(id).then((token) => (token?.userId === userId ? token : undefined));
      return end(finding, origin);
    },
    byValue: async (value, origin) => end(store.findByHash(hashCredential(value)), origin),
  };
}
