import { together } from '../harness/together.ts';

await together({
  log: async () => import('../observability/log.test.ts'),
  metrics: async () => import('../observability/metrics.test.ts'),
  'request-id': async () => import('../observability/request-id.test.ts'),
  secrecy: async () => import('../observability/secrecy.test.ts'),
});
