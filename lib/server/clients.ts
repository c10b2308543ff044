import { createClientDirectory } from '../clients/directory.ts';
import { createRemoteKeys } from '../clients/remote-keys.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ServerBase } from './base.ts';

/** Makes what finds the clients of requests besides. */
export function createClients(
  { clients: { privateKeyJwt: keys }, logger, storage, tokens: { revocationLag } }: ResolvedOptions,
  { clientSources, invalidation, openedFeatures, publicFetch, storedClients }: ServerBase,
) {
  const directory = createClientDirectory(storage.clients, {
    hooks: openedFeatures.flatMap(({ clientSources: hooks = [] }) => hooks),
    maxAge: revocationLag,
    secretUsed: storedClients.lastUses.secretUsed,
    sources: clientSources,
  });
  invalidation.add((changed) => {
    if (changed === undefined || changed.clientId !== undefined) directory.forget(changed?.clientId);
  });
  return {
    ...storedClients,
    /** Finds the clients of requests, cached. */
    directory,
    /** The keys with which clients authenticate. `undefined`: they cannot authenticate with keys. */
    remoteKeys: keys ? createRemoteKeys(publicFetch, { logger, waits: storedClients.waits }) : undefined,
  };
}

export type ServerClients = ReturnType<typeof createClients>;
