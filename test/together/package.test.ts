import { together } from '../harness/together.ts';

await together({
  package: async () => import('../package/package.test.ts'),
  bundled: async () => import('../package/bundled.test.ts'),
  example: async () => import('../package/example.test.ts'),
});
