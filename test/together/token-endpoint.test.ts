import { together } from '../harness/together.ts';

await together({
  'access-token': async () => import('../oidc/access-token.test.ts'),
  'audit-secrecy': async () => import('../oidc/audit-secrecy.test.ts'),
  'client-cache': async () => import('../oidc/client-cache.test.ts'),
  'client-authentication': async () => import('../oidc/client-authentication.test.ts'),
  'client-registry': async () => import('../oidc/client-registry.test.ts'),
  'private-key-jwt': async () => import('../oidc/private-key-jwt.test.ts'),
  revocation: async () => import('../oidc/revocation.test.ts'),
  revoke: async () => import('../oidc/revoke.test.ts'),
  'token-body': async () => import('../oidc/token-body.test.ts'),
  'token-connection': async () => import('../oidc/token-connection.test.ts'),
  'token-endpoint': async () => import('../oidc/token-endpoint.test.ts'),
});
