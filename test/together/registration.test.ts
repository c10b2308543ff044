import { together } from '../harness/together.ts';

await together({
  clients: async () => import('../registration/clients.test.ts'),
  manage: async () => import('../registration/manage.test.ts'),
  strangers: async () => import('../registration/strangers.test.ts'),
  register: async () => import('../registration/register.test.ts'),
});
