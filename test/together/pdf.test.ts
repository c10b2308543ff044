import { together } from '../harness/together.ts';

await together({
  abort: async () => import('../pdf/abort.test.ts'),
  answers: async () => import('../pdf/answers.test.ts'),
  'api-key': async () => import('../pdf/api-key.test.ts'),
  hooks: async () => import('../pdf/hooks.test.ts'),
  'image-stream': async () => import('../pdf/image-stream.test.ts'),
  inputs: async () => import('../pdf/inputs.test.ts'),
  redirects: async () => import('../pdf/redirects.test.ts'),
  retries: async () => import('../pdf/retries.test.ts'),
  timeouts: async () => import('../pdf/timeouts.test.ts'),
  tls: async () => import('../pdf/tls.test.ts'),
  tree: async () => import('../pdf/tree.test.ts'),
});
