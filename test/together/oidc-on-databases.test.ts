import { together } from '../harness/together.ts';

await together({
  'at-rest': async () => import('../oidc/at-rest.test.ts'),
  'changes-of-other-nodes': async () => import('../oidc/changes-of-other-nodes.test.ts'),
  'issue-token': async () => import('../oidc/issue-token.test.ts'),
  'optional-scopes': async () => import('../oidc/optional-scopes.test.ts'),
  'replayed-assertions': async () => import('../oidc/replayed-assertions.test.ts'),
  'removed-user': async () => import('../oidc/removed-user.test.ts'),
  'redirect-hosts': async () => import('../oidc/redirect-hosts.test.ts'),
  'reuse-during-refresh': async () => import('../oidc/reuse-during-refresh.test.ts'),
  'round-trips': async () => import('../oidc/round-trips.test.ts'),
  'token-claims': async () => import('../oidc/token-claims.test.ts'),
});
