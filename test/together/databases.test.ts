import { together } from '../harness/together.ts';

await together({
  'audit-batches': async () => import('../adapters/audit-batches.test.ts'),
  'consent-lock': async () => import('../adapters/consent-lock.test.ts'),
  'new-database': async () => import('../adapters/new-database.test.ts'),
  'prune-batches': async () => import('../adapters/prune-batches.test.ts'),
  'prune-races': async () => import('../adapters/prune-races.test.ts'),
  'round-trips': async () => import('../adapters/round-trips.test.ts'),
  'server-plans': async () => import('../adapters/server-plans.test.ts'),
  'server-settings': async () => import('../adapters/server-settings.test.ts'),
  snapshots: async () => import('../adapters/snapshots.test.ts'),
  transactions: async () => import('../adapters/transactions.test.ts'),
});
