import { together } from '../harness/together.ts';

await together({
  login: async () => import('../throttle/login.test.ts'),
  'client-authentication': async () => import('../throttle/client-authentication.test.ts'),
  'code-guesses': async () => import('../throttle/code-guesses.test.ts'),
  attempts: async () => import('../throttle/attempts.test.ts'),
  'request-counter': async () => import('../throttle/request-counter.test.ts'),
  ids: async () => import('../throttle/ids.test.ts'),
});
