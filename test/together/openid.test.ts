import { together } from '../harness/together.ts';

await together({
  'last-logout': async () => import('../openid/last-logout.test.ts'),
  'logout-uri': async () => import('../openid/logout-uri.test.ts'),
  logout: async () => import('../openid/logout.test.ts'),
  prompts: async () => import('../openid/prompts.test.ts'),
  registration: async () => import('../openid/registration.test.ts'),
  scopes: async () => import('../openid/scopes.test.ts'),
  'sign-in': async () => import('../openid/sign-in.test.ts'),
});
