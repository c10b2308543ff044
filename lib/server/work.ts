import { featuresOf, prunesOf } from '../features/known.ts';
import { isLostInProduction } from '../options/resolve.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { signingKeyAge } from '../record/signing-key-age.ts';
import type { ServerBase } from './base.ts';
import { runFeatures } from './features.ts';
import type { ServerFeature } from './features.ts';
import { createReadiness } from './health.ts';
import { PAUSES, pruneExpired, serverJobs, startJobs } from './jobs.ts';
import type { PruneOptions } from './jobs.ts';

/** Starts what a server does besides requests: its jobs, and the work of its features. */
export async function startWork(
  options: ResolvedOptions,
  {
    concurrencyLimit: server,
    features,
    forget,
    keys,
    storedClients: { onRemoved },
  }: Pick<ServerBase, 'concurrencyLimit' | 'forget' | 'keys' | 'storedClients'> & {
    readonly features: readonly ServerFeature[];
  },
) {
  const { issuer, logger, storage } = options;
  const pruned = { storage, ofFeatures: prunesOf(featuresOf(options)), onRemoved };
  const { ready, watch } = createReadiness({ storage, server, logger });
  await watch();
  const stopJobs = startJobs(serverJobs(options, { keys, pruned, watch }), logger);
  const stopFeatures = runFeatures(features, logger);
  if (isLostInProduction(storage))
    logger.warn(
      {},
      'the storage loses everything when the process ends: use knexStorage(knex) in production',
    );
  logger.info(
    {
      issuer,
      node: process.version,
      durable: storage.durable,
      signing_key_age_seconds: signingKeyAge(keys.tokens),
    },
    'authorization server started',
  );
  return {
    ready,
    prune: async (pruning: PruneOptions) => pruneExpired(pruned, pruning, PAUSES.server),
    async stop(): Promise<void> {
      forget();
      await Promise.all([stopJobs(), stopFeatures()]);
    },
  };
}

export type ServerWork = Awaited<ReturnType<typeof startWork>>;
