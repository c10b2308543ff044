import type { ClientStore, StoredClient } from '../contracts.ts';
import { GatehouseError } from '../errors.ts';

/**
 * Finds a client that has to be there.
 *
 * @throws GatehouseError `ERR_CLIENT_NOT_FOUND`
 */
export async function storedClient(store: ClientStore, id: string): Promise<StoredClient> {
  const found = await store.find(id);
  if (!found) throw clientNotFound(id);
  return found;
}

export function clientNotFound(id: string): GatehouseError {
  return new GatehouseError('ERR_CLIENT_NOT_FOUND', `There is no client ${id}`, { status: 404 });
}
