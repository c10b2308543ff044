import { together } from '../harness/together.ts';

await together({
  can: async () => import('../access/can.test.ts'),
  gate: async () => import('../access/gate.test.ts'),
  guard: async () => import('../access/guard.test.ts'),
  principal: async () => import('../access/principal.test.ts'),
  requires: async () => import('../access/requires.test.ts'),
  rules: async () => import('../access/rules.test.ts'),
  resources: async () => import('../access/resources.test.ts'),
  'token-cache': async () => import('../access/token-cache.test.ts'),
});
