import { together } from '../harness/together.ts';

await together({
  backup: async () => import('../cli/backup.test.ts'),
  clients: async () => import('../cli/clients.test.ts'),
  doctor: async () => import('../cli/doctor.test.ts'),
  'read-only': async () => import('../cli/read-only.test.ts'),
});
