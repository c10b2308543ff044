import { together } from '../harness/together.ts';

await together({
  gotenberg: async () => import('../html-pdf/gotenberg.test.ts'),
  options: async () => import('../html-pdf/options.test.ts'),
  sandbox: async () => import('../html-pdf/sandbox.test.ts'),
});
