import { together } from '../harness/together.ts';

await together({
  authorization: async () => import('../oidc/authorization.test.ts'),
  consent: async () => import('../oidc/consent.test.ts'),
  'cookie-signatures': async () => import('../oidc/cookie-signatures.test.ts'),
  'engine-assumptions': async () => import('../oidc/engine-assumptions.test.ts'),
  'engine-hook': async () => import('../oidc/engine-hook.test.ts'),
  metadata: async () => import('../oidc/metadata.test.ts'),
  pkce: async () => import('../oidc/pkce.test.ts'),
  prompt: async () => import('../oidc/prompt.test.ts'),
  'redirect-uri': async () => import('../oidc/redirect-uri.test.ts'),
  'redirect-uri-registration': async () => import('../oidc/redirect-uri-registration.test.ts'),
  'sign-in': async () => import('../oidc/sign-in.test.ts'),
});
