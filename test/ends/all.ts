import { createAdministration, personalTokens as withTokens } from 'koa-gatehouse';
import type { Administration, UserStore } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { people, recordingLogger, signedIn, startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { clientToken } from '../harness/tokens.ts';
import { byHost, byRequest, unconfirmed } from './way.ts';
import type { Way } from './way.ts';

/** A server whose storage can lose the confirmation of its changes, and an administration of the storage. */
export interface Place {
  readonly platform: Platform;
  readonly operator: Administration;
  readonly state: { isLost: boolean };
}

/** Its users have the permissions that the storage assigns. */
export async function startPlace(): Promise<Place> {
  const stored = people();
  const users: UserStore<Person> = {
    find: async (id) => stored.find(id),
    verifyPassword: async (login, password) => stored.verifyPassword(login, password),
  };
  const { state, storage } = unconfirmed(memoryStorage());
  const platform = await startPlatform({ storage, users });
  return { platform, operator: createAdministration({ storage, logger: recordingLogger() }), state };
}

/** The ways to end more than one thing, or what only the storage of {@link startPlace} has: each in a place of its own. */
export const WAYS_OF_ALL: Readonly<Record<string, (place: Place) => Promise<Way>>> = {
  async 'auth.revoke of all'({ platform }) {
    return byHost(async () => platform.auth.revoke({ all: true }), await tokenOf(platform));
  },
  async 'administration.revoke of all'({ operator, platform }) {
    return byHost(async () => operator.revoke({ all: true }), await tokenOf(platform));
  },
  async 'administration.signingKeys.revoke'({ operator, platform }) {
    const works = await tokenOf(platform);
    return byHost(async () => operator.signingKeys.revoke(), works);
  },
  async 'auth.userData.erase'({ operator, platform }) {
    return byHost(async () => platform.auth.userData.erase('left'), await rowsOf(operator));
  },
  async 'administration.userData.erase'({ operator }) {
    return byHost(async () => operator.userData.erase('left'), await rowsOf(operator));
  },
  async 'POST /account/sessions/end-others'({ platform }) {
    const [browser, other] = [await signedIn(platform), await signedIn(platform)];
    return byRequest(
      async () => browser.post(platform.url('/account/sessions/end-others'), new URLSearchParams()),
      async () => (await other.get(platform.url('/account/apps'))).status === 200,
    );
  },
  async 'auth.assignments.set'({ platform }) {
    return byHost(
      async () => platform.auth.assignments.set('1', { roles: [], permissions: [] }),
      await permissionOf(platform),
    );
  },
  async 'auth.assignments.delete'({ platform }) {
    return byHost(async () => platform.auth.assignments.delete('1'), await permissionOf(platform));
  },
};

async function tokenOf(platform: Platform): Promise<Way['works']> {
  const token = await clientToken(platform, await platform.registerService());
  return async () => (await platform.api('/identity', token)).status === 200;
}

/** Of a user whom the user store does not have any more. */
async function rowsOf(administration: Administration): Promise<Way['works']> {
  const { personalTokens } = await administration.featureMembers(withTokens());
  await personalTokens.create({ userId: 'left', name: 'Import', lifetime: '1 day' });
  return async () => (await personalTokens.list('left')).length > 0;
}

async function permissionOf({ auth }: Platform): Promise<Way['works']> {
  await auth.assignments.set('1', { roles: [], permissions: ['view_schools'] });
  return async () => (await auth.assignments.find('1')).permissions.length > 0;
}
