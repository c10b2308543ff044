import { together } from '../harness/together.ts';

await together({
  clients: async () => import('../resources/clients.test.ts'),
  guard: async () => import('../resources/guard.test.ts'),
  metadata: async () => import('../resources/metadata.test.ts'),
  pages: async () => import('../resources/pages.test.ts'),
  tokens: async () => import('../resources/tokens.test.ts'),
});
