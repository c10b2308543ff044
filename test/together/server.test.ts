import { together } from '../harness/together.ts';

await together({
  administration: async () => import('../administration.test.ts'),
  options: async () => import('../options.test.ts'),
});
