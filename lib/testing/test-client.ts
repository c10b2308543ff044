import { randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { Client, ClientGrantType } from '../contracts/index.ts';

/** Completes a client for tests that care about some of its members only. It is registered nowhere. */
export function completeClient(given: Partial<Client>, grantType: ClientGrantType): Client {
  const createdAt = now();
  return {
    id: randomUUID(),
    name: 'Test client',
    grantType,
    redirectUris: [],
    confidential: true,
    native: false,
    firstParty: false,
    scopes: undefined,
    roles: [],
    permissions: [],
    ownerId: undefined,
    disabled: false,
    disabledBy: undefined,
    lifetimes: {},
    createdAt,
    updatedAt: createdAt,
    ...given,
  };
}
