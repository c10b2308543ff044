import type { Client } from 'koa-gatehouse';

import type { Session } from './session.ts';

/** @throws GatehouseError when there is no such client */
export async function findClient({ administration }: Session, id: string): Promise<Client> {
  const client = await administration.clients.find(id);
  if (client) return client;
  const { GatehouseError } = await import('../errors.ts');
  throw new GatehouseError('ERR_CLIENT_NOT_FOUND', `There is no client ${id}`, { status: 404 });
}
