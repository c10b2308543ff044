import { together } from '../harness/together.ts';

await together({
  'device-grant': async () => import('../devices/device-grant.test.ts'),
  'device-pages': async () => import('../devices/device-pages.test.ts'),
  'device-server': async () => import('../devices/device-server.test.ts'),
  guesses: async () => import('../devices/guesses.test.ts'),
});
