import { createAppNameCheck } from '../clients/app-names.ts';
import { createClientDirectory } from '../clients/directory.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import { createLastUses } from '../clients/last-use.ts';
import { createClientRegistry } from '../clients/registry.ts';
import { createRemoteKeys } from '../clients/remote-keys.ts';
import type { RemoteWaits } from '../contracts/index.ts';
import { clientKindsOf } from '../features/known.ts';
import type { PublicFetch } from '../http/public-fetch.ts';
import { createNodeLimiter } from '../limits/limiter.ts';
import { FETCH_LIMIT } from '../limits/limits.ts';
import { createRemoteWaits } from '../limits/remote-waits.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createDocumentDirectory } from '../registration/document-directory.ts';
import { createOnRemoved } from './jobs.ts';
import type { ServerRecord } from './record.ts';
import type { ServerStorage } from './storage.ts';

/** Makes what finds and manages the clients of a server. */
export function createClients(
  options: ResolvedOptions,
  {
    invalidation,
    publicFetch: fetch,
    record: { audit },
  }: Pick<ServerStorage, 'invalidation'> & {
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

  const registered = createClientDirectory(storage.clients, {
    isAdmitted: ({ registration }) =>
      registration !== 'metadata_document' || options.clients.documents !== undefined,
    maxAge: tokens.revocationLag,
    secretUsed: lastUses.secretUsed,
  });
  const directory = withDocuments(registered, options, { audit, fetch, loadNameCheck, onChange, waits });
  invalidation.add((changed) => {
    if (changed === undefined || changed.clientId !== undefined) directory.forget(changed?.clientId);
  });

  return {
    /** Finds the clients of requests, cached. */
    directory,
    /** Manages the registered clients. */
    registryFor: createClientRegistry(
      storage.clients,
      { gate, scopes, lifetimes: tokens.lifetimes, privateKeyJwt, kinds: clientKindsOf(options.features) },
      { audit, onChange },
    ),
    /** Called with each client that was removed because it is unused. */
    onRemoved: createOnRemoved(audit, onChange),
    /** The keys with which clients authenticate. `undefined`: they cannot authenticate with keys. */
    remoteKeys: privateKeyJwt ? createRemoteKeys(fetch, { logger, waits }) : undefined,
    lastUses,
    /** Names that apps of users and strangers may not have. The pages add that of their brand. */
    reservedNames,
    /** Loads the check of the names of apps that no administrator registers. */
    loadNameCheck,
  };
}

export type ServerClients = ReturnType<typeof createClients>;

/** Adds the clients with metadata documents, if the option `clients.documents` is set. */
function withDocuments(
  registered: ReturnType<typeof createClientDirectory>,
  { clients: { documents: policy, keys: privateKeyJwt }, issuer, logger, storage }: ResolvedOptions,
  parts: Pick<ServerRecord, 'audit'> &
    Pick<ServerClients, 'loadNameCheck'> & {
      readonly fetch: PublicFetch;
      readonly onChange: (clientId: string) => void;
      readonly waits: RemoteWaits;
    },
): ClientDirectory {
  if (!policy) return registered;
  return createDocumentDirectory(registered, {
    ...parts,
    store: storage.clients,
    countFetch: createNodeLimiter(FETCH_LIMIT),
    policy,
    issuer,
    privateKeyJwt,
    logger,
  });
}
