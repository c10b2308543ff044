import { together } from '../harness/together.ts';

await together({
  overload: async () => import('../operation/overload.test.ts'),
  shutdown: async () => import('../operation/shutdown.test.ts'),
  'storage-failures': async () => import('../operation/storage-failures.test.ts'),
});
