import type { Client, Provider } from 'oidc-provider';

import type { StoredClient } from '../contracts.ts';
import type { ClientDirectory } from './client-directory.ts';
import { currentState } from './request-state.ts';

/**
 * Lets the engine find clients as it has built them before, for as long as they are remembered here. By itself it keeps a
 * hundred of them, builds any other one anew for each request, and hashes what is stored of a client to find one.
 *
 * A disabled client does not exist for the engine.
 */
export function keepBuiltClients(provider: Provider, clients: Pick<ClientDirectory, 'find'>): void {
  const build = provider.Client.find.bind(provider.Client);
  // By what is remembered: a client that was changed or read anew is another object, and built anew.
  const built = new WeakMap<StoredClient, Client>();

  provider.Client.find = async function find(id) {
    // The engine says what becomes of what is no id; the storage is not asked about it.
    if (typeof id !== 'string' || id === '') return build(id);
    const state = currentState();
    if (state) state.triedClientId ??= id;
    const stored = await clients.find(id);
    if (state && stored) state.sequence ??= stored.sequence;
    if (stored?.client.disabled) {
      if (state) state.disabledClientId = stored.client.id;
      return undefined;
    }
    const known = stored && built.get(stored);
    if (known) return known;
    const client = await build(id);
    if (stored && client) built.set(stored, client);
    return client;
  };
}
