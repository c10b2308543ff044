import type { Client } from 'koa-gatehouse';

import { completeClient as complete } from '../../lib/testing/complete-client.ts';

/** Completes a client, for tests that need one that is not registered. */
export function completeClient(given: Pick<Client, 'id' | 'name'> & Partial<Client>): Client {
  return complete({ createdAt: 0, updatedAt: 0, ...given }, given.grantType ?? 'authorization_code');
}
