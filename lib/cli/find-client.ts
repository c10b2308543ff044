import type { Client } from 'koa-gatehouse';

import type { Session } from './session.ts';

/** @throws ClientNotFoundError */
export async function findClient({ administration }: Session, id: string): Promise<Client> {
  const client = await administration.clients.find(id);
  if (client) return client;
  const { ClientNotFoundError } = await import('../errors.ts');
  throw new ClientNotFoundError(id);
}
