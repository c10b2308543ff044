import type { Client, Storage } from 'koa-gatehouse';

import { completeClient } from '../test/harness/client.ts';
import { FUTURE, PAST } from './filled-database.ts';

export function client(index: number): Client {
  return completeClient({
    id: `client ${index}`,
    name: `App ${index}`,
    redirectUris: ['https://app.example/callback'],
    createdAt: PAST,
    updatedAt: PAST,
  });
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
