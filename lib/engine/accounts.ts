import type { FindAccount } from 'oidc-provider';

import type { UserStore } from '../contracts.ts';

/** Lets the engine look people up. A user who is gone has no account: their codes and refresh tokens stop working. */
export function createFindAccount(users: UserStore): FindAccount {
  return async (_ctx, sub) => {
    const user = await users.find(sub);
    return user && { accountId: user.id, claims: () => Promise.resolve({ sub: user.id }) };
  };
}
