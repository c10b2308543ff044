import type { Client, Storage } from 'koa-gatehouse';

import { completeClient } from '../test/harness/client.ts';
import { FUTURE, PAST } from './bench-database.ts';

/** The client of the grants. */
export const CLIENT_ID = 'timetable';

export function client(index: number): Client {
  return completeClient({
    id: `client ${index}`,
    name: `App ${index}`,
    redirectUris: ['https://app.example/callback'],
    createdAt: PAST,
    updatedAt: PAST,
  });
}

export function session(id: string): StoredSession {
  return {
    id,
    uid: id,
    userId: `user of ${id}`,
    payload: { loginTs: PAST, accountId: `user of ${id}`, authorizations: {}, filler: 'x'.repeat(200) },
    expiresAt: FUTURE,
    sequence: 0,
    origin: { address: '203.0.113.7', userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' },
    lastUsedAt: PAST,
  };
}

type StoredSession = Parameters<Storage['sessions']['insert']>[0];

type Grant = Parameters<Storage['grants']['insert']>[0];

export function grant(id: string): Grant {
  return {
    id,
    userId: `user of ${id}`,
    clientId: CLIENT_ID,
    scopes: [],
    createdAt: PAST,
    expiresAt: FUTURE,
    revokedAt: undefined,
    sequence: 0,
    origin: undefined,
    sessionUid: undefined,
  };
}

export function code(grantId: string): Credential {
  return { ...successor(grantId, `code of ${grantId}`), kind: 'code' };
}

type Credential = Parameters<Storage['grants']['insert']>[1];

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
