import { together } from '../harness/together.ts';

await together({
  consent: async () => import('../interactions/consent.test.ts'),
  error: async () => import('../interactions/error.test.ts'),
  languages: async () => import('../interactions/languages.test.ts'),
  login: async () => import('../interactions/login.test.ts'),
  logout: async () => import('../interactions/logout.test.ts'),
  'own-pages': async () => import('../interactions/own-pages.test.ts'),
  pages: async () => import('../interactions/pages.test.ts'),
  'sign-in': async () => import('../interactions/sign-in.test.ts'),
  views: async () => import('../interactions/views.test.ts'),
});
