import { together } from '../harness/together.ts';

await together({
  clocks: async () => import('../oidc/clocks.test.ts'),
  'client-lifetimes': async () => import('../oidc/client-lifetimes.test.ts'),
  'long-access-tokens': async () => import('../oidc/long-access-tokens.test.ts'),
  'revoke-tokens': async () => import('../account/revoke-tokens.test.ts'),
  'owned-clients': async () => import('../access/owned-clients.test.ts'),
  idempotency: async () => import('../api/idempotency.test.ts'),
});
