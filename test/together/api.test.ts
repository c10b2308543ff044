import { together } from '../harness/together.ts';

await together({
  bulk: async () => import('../api/bulk.test.ts'),
  'bulk-during-authorization': async () => import('../api/bulk-during-authorization.test.ts'),
  'define-action': async () => import('../api/define-action.test.ts'),
  discovery: async () => import('../api/discovery.test.ts'),
  docs: async () => import('../api/docs.test.ts'),
  execute: async () => import('../api/execute.test.ts'),
  fuzz: async () => import('../api/fuzz.test.ts'),
  identity: async () => import('../api/identity.test.ts'),
  objects: async () => import('../api/objects.test.ts'),
  openapi: async () => import('../api/openapi.test.ts'),
  problems: async () => import('../api/problems.test.ts'),
  'published-schemas': async () => import('../api/published-schemas.test.ts'),
  'router-options': async () => import('../api/router-options.test.ts'),
  router: async () => import('../api/router.test.ts'),
  'unauthorized-routes': async () => import('../api/unauthorized-routes.test.ts'),
});
