import { together } from '../harness/together.ts';

await together({
  refresh: async () => import('../oidc/refresh.test.ts'),
  'refresh-races': async () => import('../oidc/refresh-races.test.ts'),
  'authorization-code': async () => import('../oidc/authorization-code.test.ts'),
  'client-secrets': async () => import('../oidc/client-secrets.test.ts'),
  keys: async () => import('../oidc/keys.test.ts'),
  introspection: async () => import('../oidc/introspection.test.ts'),
  'session-writes': async () => import('../oidc/session-writes.test.ts'),
  'absolute-ends': async () => import('../oidc/absolute-ends.test.ts'),
});
