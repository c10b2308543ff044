import { together } from '../harness/together.ts';

await together({
  'client-lifetimes': async () => import('../oidc/client-lifetimes.test.ts'),
  'long-access-tokens': async () => import('../oidc/long-access-tokens.test.ts'),
  'reuse-during-refresh': async () => import('../oidc/reuse-during-refresh.test.ts'),
  'revoke-tokens': async () => import('../developer/revoke-tokens.test.ts'),
  'owned-clients': async () => import('../access/owned-clients.test.ts'),
  idempotency: async () => import('../api/idempotency.test.ts'),
});
