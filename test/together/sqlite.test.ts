import { together } from '../harness/together.ts';

await together({
  'knex-address': async () => import('../adapters/knex-address.test.ts'),
  'sole-connection': async () => import('../adapters/sole-connection.test.ts'),
  'sqlite-host': async () => import('../adapters/sqlite-host.test.ts'),
  'sqlite-plans': async () => import('../adapters/sqlite-plans.test.ts'),
  memory: async () => import('../adapters/memory.test.ts'),
});
