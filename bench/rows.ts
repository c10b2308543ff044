import type { Client, Storage } from 'koa-gatehouse';

import { FUTURE, PAST } from './filled-database.ts';

export function client(index: number): Client {
  return {
    id: `client ${index}`,
    name: `App ${index}`,
    grantType: 'authorization_code',
    redirectUris: ['https://app.example/callback'],
    confidential: true,
    native: false,
    firstParty: false,
    scopes: undefined,
    roles: [],
    permissions: [],
    ownerId: undefined,
    disabled: false,
    disabledBy: undefined,
    createdAt: PAST,
    updatedAt: PAST,
  };
}

type Credential = Parameters<Storage['credentials']['start']>[1];

export function successor(grantId: string, id: string): Credential {
  return {
    kind: 'refresh_token',
    id,
    grantId,
    payload: {},
    expiresAt: FUTURE,
    consumedAt: undefined,
    sealedSuccessor: undefined,
  };
}
