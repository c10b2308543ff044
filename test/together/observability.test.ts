import { together } from '../harness/together.ts';

await together({
  log: async () => import('../record/log.test.ts'),
  metrics: async () => import('../record/metrics.test.ts'),
  'request-id': async () => import('../record/request-id.test.ts'),
  secrecy: async () => import('../record/secrecy.test.ts'),
});
