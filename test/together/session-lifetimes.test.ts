import { together } from '../harness/together.ts';

await together({
  audit: async () => import('../oidc/audit.test.ts'),
  'authorized-app-use': async () => import('../oidc/authorized-app-use.test.ts'),
  login: async () => import('../oidc/login.test.ts'),
  'two-nodes': async () => import('../oidc/two-nodes.test.ts'),
  'storage-errors': async () => import('../oidc/storage-errors.test.ts'),
  'imported-secrets': async () => import('../oidc/imported-secrets.test.ts'),
  'engine-runtime': async () => import('../oidc/engine-runtime.test.ts'),
});
