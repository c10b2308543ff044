import { now } from '../../contracts/clock.ts';
import type { Storage } from '../../contracts/index.ts';
import type { AdministrationCore } from '../core.ts';
import { createEndPersonalToken } from './end.ts';
import { LONGEST_PERSONAL_TOKEN, MOST_PERSONAL_TOKENS } from './index.ts';
import type { WithPersonalTokens } from './index.ts';
import { createPersonalTokens } from './manage.ts';
import { personalTokenStore } from './store.ts';

/** Whether there is a user, and whether the user may have so many, is not known here; a lifetime is a year at most. */
export async function administerPersonalTokens({
  announce,
  audit,
  scopesOf,
  storage,
}: AdministrationCore): Promise<WithPersonalTokens> {
  const store = await storage.store('personalTokens', personalTokenStore);
  return {
    personalTokens: createPersonalTokens({
      store,
      audit,
      end: createEndPersonalToken(store, { announce, audit, storage }),
      latestSequence: async () => storage.revocations.latestSequence(),
      issuer: undefined,
      scopesOf,
      permissionsOf: async () => 'unknown',
      maxLifetime: LONGEST_PERSONAL_TOKEN,
      perUser: MOST_PERSONAL_TOKENS,
    }),
  };
}

export async function exportPersonalTokens(storage: Storage, userId: string): Promise<object> {
  const store = await storage.store('personalTokens', personalTokenStore);
  return { personalTokens: await store.list(userId, now()) };
}
