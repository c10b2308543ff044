import { createAppNameCheck } from '../clients/app-names.ts';
import { createLastUses } from '../clients/last-use.ts';
import { createClientRegistry } from '../clients/registry.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import type { ClientSources } from '../contracts/client-sources.ts';
import type { FurtherFields } from '../contracts/index.ts';
import { createRemoteWaits } from '../limits/remote-waits.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createOnRemoved } from './jobs.ts';
import type { ServerRecord } from './record.ts';
import type { ServerStorage } from './storage.ts';

/** Makes what manages the clients of a server that are stored. */
export function createStoredClients(
  options: ResolvedOptions,
  {
    clientKinds,
    clientSources,
    furtherFields,
    invalidation,
    record: { audit },
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly clientKinds: ClientKinds;
    readonly clientSources: ClientSources;
    readonly furtherFields: FurtherFields;
    readonly record: ServerRecord;
  },
) {
  const { gate, logger, scopes, storage, tokens } = options;
  const onChange = (clientId: string): void => invalidation.announce({ clientId });
  const reservedNames = new Set(options.clients.reservedNames);
  const names = {
    gate,
    scopes,
    lifetimes: tokens.lifetimes,
    privateKeyJwt: options.clients.privateKeyJwt,
    kinds: clientKinds,
    sources: clientSources,
    further: furtherFields,
  };
  return {
    /** Manages the registered clients. */
    registryFor: createClientRegistry(storage.clients, names, { audit, onChange }),
    /** What the fields of a client are checked against. */
    names,
    onChange,
    waits: createRemoteWaits(options.limits),
    /** Called with each client that was removed because it is unused. */
    onRemoved: createOnRemoved(audit, onChange),
    lastUses: createLastUses(storage, { logger }),
    /** Names that apps of users and strangers may not have. The pages add that of their brand. */
    reservedNames,
    /** Loads the check of the names of apps that no administrator registers. */
    loadNameCheck: createAppNameCheck(reservedNames),
  };
}
