import { createAppNameCheck } from '../clients/app-names.ts';
import { createClientDirectory } from '../clients/directory.ts';
import type { ClientSources } from '../contracts/client-sources.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import type { FurtherFields } from '../contracts/index.ts';
import { createLastUses } from '../clients/last-use.ts';
import { createClientRegistry } from '../clients/registry.ts';
import { createRemoteKeys } from '../clients/remote-keys.ts';
import type { PublicFetch } from '../http/public-fetch.ts';
import { createRemoteWaits } from '../limits/remote-waits.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { openClientSources } from './features.ts';
import { createOnRemoved } from './jobs.ts';
import type { ServerRecord } from './record.ts';
import type { ServerStorage } from './storage.ts';

/** Makes what finds and manages the clients of a server. */
export async function createClients(
  options: ResolvedOptions,
  {
    clientKinds,
    clientSources,
    furtherFields,
    invalidation,
    publicFetch,
    record: { audit },
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly clientKinds: ClientKinds;
    readonly clientSources: ClientSources;
    readonly furtherFields: FurtherFields;
    /** Fetches documents whose URL a developer or a stranger chose. */
    readonly publicFetch: PublicFetch;
    readonly record: ServerRecord;
  },
) {
  const { gate, logger, scopes, storage, tokens } = options;
  const { keys: privateKeyJwt } = options.clients;
  const onChange = (clientId: string): void => invalidation.announce({ clientId });
  const lastUses = createLastUses(storage, { logger });
  const waits = createRemoteWaits(options.limits);
  const reservedNames = new Set(options.clients.reservedNames);
  const loadNameCheck = createAppNameCheck(reservedNames);

  const names = {
    gate,
    scopes,
    lifetimes: tokens.lifetimes,
    privateKeyJwt,
    kinds: clientKinds,
    sources: clientSources,
    further: furtherFields,
  };

  const stored = {
    /** Manages the registered clients. */
    registryFor: createClientRegistry(storage.clients, names, { audit, onChange }),
    /** What the fields of a client are checked against. */
    names,
    onChange,
    waits,
    /** Called with each client that was removed because it is unused. */
    onRemoved: createOnRemoved(audit, onChange),
    lastUses,
    /** Loads the check of the names of apps that no administrator registers. */
    loadNameCheck,
  };
  const directory = createClientDirectory(storage.clients, {
    hooks: await openClientSources({ audit, clients: stored, options, publicFetch, storage }),
    maxAge: tokens.revocationLag,
    secretUsed: lastUses.secretUsed,
    sources: clientSources,
  });
  invalidation.add((changed) => {
    if (changed === undefined || changed.clientId !== undefined) directory.forget(changed?.clientId);
  });

  return {
    ...stored,
    /** Finds the clients of requests, cached. */
    directory,
    /** The keys with which clients authenticate. `undefined`: they cannot authenticate with keys. */
    remoteKeys: privateKeyJwt ? createRemoteKeys(publicFetch, { logger, waits }) : undefined,
    /** Names that apps of users and strangers may not have. The pages add that of their brand. */
    reservedNames,
  };
}

export type ServerClients = Awaited<ReturnType<typeof createClients>>;
