import { together } from '../harness/together.ts';

await together({
  'code-blocks': async () => import('../docs/code-blocks.test.ts'),
  commands: async () => import('../docs/commands.test.ts'),
  links: async () => import('../docs/links.test.ts'),
  'options-table': async () => import('../docs/options-table.test.ts'),
  reference: async () => import('../docs/reference.test.ts'),
});
