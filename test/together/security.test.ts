import { together } from '../harness/together.ts';

await together({
  'broken-connections': async () => import('../security/broken-connections.test.ts'),
  checklist: async () => import('../security/checklist.test.ts'),
  cookies: async () => import('../security/cookies.test.ts'),
  'cross-origin': async () => import('../security/cross-origin.test.ts'),
  'engine-pages': async () => import('../security/engine-pages.test.ts'),
  'every-form': async () => import('../security/every-form.test.ts'),
  'failing-log': async () => import('../security/failing-log.test.ts'),
  'no-fetch': async () => import('../security/no-fetch.test.ts'),
  'outsiders-text': async () => import('../security/outsiders-text.test.ts'),
  'refresh-needs-secret': async () => import('../security/refresh-needs-secret.test.ts'),
  rfc9700: async () => import('../security/rfc9700.test.ts'),
  'signed-out': async () => import('../security/signed-out.test.ts'),
  'strangers-write-nothing': async () => import('../security/strangers-write-nothing.test.ts'),
});
