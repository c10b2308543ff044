import type { ClientStore, StoredClient } from '../contracts.ts';
import { ClientNotFoundError } from '../errors.ts';

/**
 * Finds a client that has to be there.
 *
 * @throws ClientNotFoundError
 */
export async function storedClient(store: ClientStore, id: string): Promise<StoredClient> {
  const found = await store.find(id);
  if (!found) throw new ClientNotFoundError(id);
  return found;
}
