import { clientFieldsOf, clientKindsOf, clientSourcesOf, featuresOf } from '../features/known.ts';
import { createPublicFetch } from '../http/public-fetch.ts';
import type { Network } from '../http/public-request.ts';
import { createConcurrencyLimit } from '../limits/concurrency-limit.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { openFeatures } from './features.ts';
import { createServerKeys } from './keys.ts';
import { createLimiters } from './limiters.ts';
import { createRecord } from './record.ts';
import { createStoredClients } from './stored-clients.ts';
import { openStorage } from './storage.ts';

/**
 * Makes what a server has before its tokens: its storage, its keys and limits, the clients that are stored, where it records what happens,
 * and the parts of features that the rest is made with.
 *
 * @param network - for documents and keys at the URLs of strangers. Left out: the internet
 */
export async function createBase(options: ResolvedOptions, network: Partial<Network> | undefined) {
  const { storage } = options;
  const given = featuresOf(options);
  const { forget, invalidation } = await openStorage(options);
  const record = createRecord(options);
  const keys = await createServerKeys(options, record);
  const clientKinds = clientKindsOf(given);
  const clientSources = clientSourcesOf(given);
  const furtherFields = clientFieldsOf(given);
  const internet = { ...network, loopback: [...clientSources.on.values()].some(({ loopback }) => loopback) };
  const publicFetch = createPublicFetch(internet);
  const storedClients = createStoredClients(options, {
    clientKinds,
    clientSources,
    furtherFields,
    invalidation,
    record,
  });
  return {
    invalidation,
    /** Ends of this process do not empty its caches any more. */
    forget,
    record,
    concurrencyLimit: createConcurrencyLimit(options.limits),
    keys,
    limiters: createLimiters(options, { record, secrets: keys.secrets }),
    clientKinds,
    clientSources,
    network: internet,
    publicFetch,
    storedClients,
    openedFeatures: await openFeatures({
      audit: record.audit,
      clients: storedClients,
      lastUses: storedClients.lastUses.queue,
      options,
      publicFetch,
      storage,
    }),
  };
}

export type ServerBase = Awaited<ReturnType<typeof createBase>>;
