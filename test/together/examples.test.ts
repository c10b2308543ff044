import { together } from '../harness/together.ts';

await together({
  embed: async () => import('../examples/embed.test.ts'),
  'own-pages': async () => import('../examples/own-pages.test.ts'),
  'own-users-knex': async () => import('../examples/own-users-knex.test.ts'),
  service: async () => import('../examples/service.test.ts'),
});
