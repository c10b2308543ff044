import { together } from '../harness/together.ts';

await together({
  clients: async () => import('../doctor/clients.test.ts'),
  issuer: async () => import('../doctor/issuer.test.ts'),
  keys: async () => import('../doctor/keys.test.ts'),
  storage: async () => import('../doctor/storage.test.ts'),
});
