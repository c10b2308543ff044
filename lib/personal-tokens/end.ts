import { confirmAbsence } from '../contracts/confirm-absence.ts';
import type { AuditLog, AuditOrigin, PersonalToken, Storage } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';

/** Ends personal access tokens, with an audit event. Each resolves to `false` when there is none. */
export interface EndPersonalToken {
  byId(this: void, id: string, origin?: AuditOrigin): Promise<boolean>;
  /** By its id, if it is a token of the user. */
  ofUser(this: void, userId: string, id: string, origin?: AuditOrigin): Promise<boolean>;
  /** By its value, as anybody may who has found it. */
  byValue(this: void, value: string, origin?: AuditOrigin): Promise<boolean>;
}

export function createEndPersonalToken(
  storage: Pick<Storage, 'confirm' | 'personalTokens'>,
  audit: Pick<AuditLog, 'record'>,
): EndPersonalToken {
  const { personalTokens: store } = storage;

  async function end(finding: Promise<PersonalToken | undefined>, origin?: AuditOrigin): Promise<boolean> {
    const token = await confirmAbsence(storage, finding);
    if (!token) return false;
    const { id, name, userId } = token;
    const isEnded = await store.delete(id);
    if (isEnded) audit.record({ type: 'personal_token_ended', userId, tokenId: id, name }, origin);
    return isEnded;
  }

  return {
    byId: async (id, origin) => end(store.find(id), origin),
    async ofUser(userId, id, origin) {
      const finding = store.find(id).then((token) => (token?.userId === userId ? token : undefined));
      return end(finding, origin);
    },
    byValue: async (value, origin) => end(store.findByHash(hashCredential(value)), origin),
  };
}
