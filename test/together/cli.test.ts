import { together } from '../harness/together.ts';

await together({
  clients: async () => import('../cli/clients.test.ts'),
  doctor: async () => import('../cli/doctor.test.ts'),
});
