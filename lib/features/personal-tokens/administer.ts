import { now } from '../../contracts/clock.ts';
import type { Storage } from '../../contracts/index.ts';
import type { AdministrationCore } from '../core.ts';
import { createEndPersonalToken } from './end.ts';
import type { PersonalTokenSettings, WithPersonalTokens } from './index.ts';
import { createPersonalTokens } from './manage.ts';
import { personalTokenStore } from './store.ts';

/** Makes the personal tokens of an administration, which knows neither whether a user exists nor which permissions the user has. */
export async function administerPersonalTokens(
  { announce, audit, scopesOf, storage }: AdministrationCore,
  { maxLifetime, perUser }: Pick<PersonalTokenSettings, 'maxLifetime' | 'perUser'>,
): Promise<WithPersonalTokens> {
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
      maxLifetime,
      perUser,
    }),
  };
}

export async function exportPersonalTokens(storage: Storage, userId: string): Promise<object> {
  const store = await storage.store('personalTokens', personalTokenStore);
  return { personalTokens: await store.list(userId, now()) };
}
