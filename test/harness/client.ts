import type { Client } from 'koa-gatehouse';

/** Completes a client, for tests that need one that is not registered. */
export function completeClient(given: Pick<Client, 'id' | 'name'> & Partial<Client>): Client {
  return {
    clientUri: undefined,
    logo: undefined,
    verified: false,
    source: 'manual',
    grantType: 'authorization_code',
    redirectUris: [],
    postLogoutRedirectUris: [],
    backchannelLogoutUri: undefined,
    confidential: true,
    keys: undefined,
    native: false,
    firstParty: false,
    scopes: undefined,
    roles: [],
    permissions: [],
    ownerId: undefined,
    disabled: false,
    disabledBy: undefined,
    lifetimes: {},
    createdAt: 0,
    updatedAt: 0,
    ...given,
  };
}
