import { together } from '../harness/together.ts';

await together({
  'broken-connections': async () => import('../security/broken-connections.test.ts'),
  checklist: async () => import('../security/checklist.test.ts'),
  cookies: async () => import('../security/cookies.test.ts'),
  'cross-origin': async () => import('../security/cross-origin.test.ts'),
  'engine-pages': async () => import('../security/engine-pages.test.ts'),
  'cross-site-forms': async () => import('../security/cross-site-forms.test.ts'),
  'failing-log': async () => import('../security/failing-log.test.ts'),
  'no-fetch': async () => import('../security/no-fetch.test.ts'),
  'input-escaping': async () => import('../security/input-escaping.test.ts'),
  'refresh-needs-secret': async () => import('../security/refresh-needs-secret.test.ts'),
  rfc9700: async () => import('../security/rfc9700.test.ts'),
  'session-after-logout': async () => import('../security/session-after-logout.test.ts'),
  'no-rows-before-login': async () => import('../security/no-rows-before-login.test.ts'),
});
