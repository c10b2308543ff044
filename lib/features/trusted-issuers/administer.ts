import type { Storage } from '../../contracts/index.ts';
import type { AdministrationCore } from '../core.ts';
import type { WithTrustedIssuers } from './index.ts';
import { allowedGrantStore } from './store.ts';
import type { AllowedGrantStore } from './types.ts';

export const openStore = async (storage: Storage): Promise<AllowedGrantStore> =>
  storage.store('allowedGrants', allowedGrantStore);

/** Makes the members of a server, and those of an administration. */
export async function administerTrustedIssuers({
  audit,
  storage,
}: Pick<AdministrationCore, 'audit' | 'storage'>): Promise<WithTrustedIssuers> {
  const store = await openStore(storage);
  return {
    trustedIssuers: {
      async allow({ clientId, userId }) {
        const isForgotten = await store.forget(userId, clientId);
        if (isForgotten) audit.record({ type: 'app_allowed_again', userId, clientId });
        return isForgotten;
      },
    },
  };
}

/** What issuers have allowed for a user, ended ones included. */
export async function exportAllowedGrants(storage: Storage, userId: string): Promise<object> {
  const found = await (await openStore(storage)).list(userId);
  return { trustedIssuers: found.map(({ id: _id, lastUsedAt: _at, state: _state, ...allowed }) => allowed) };
}
