import { together } from '../harness/together.ts';

await together({
  login: async () => import('../limits/login.test.ts'),
  'client-authentication': async () => import('../limits/client-authentication.test.ts'),
  'code-guesses': async () => import('../limits/code-guesses.test.ts'),
  'device-requests': async () => import('../limits/device-requests.test.ts'),
  attempts: async () => import('../limits/attempts.test.ts'),
  'caller-limits': async () => import('../limits/caller-limits.test.ts'),
  'remote-waits': async () => import('../limits/remote-waits.test.ts'),
  ids: async () => import('../limits/ids.test.ts'),
});
