import { together } from '../harness/together.ts';

await together({
  'app-activity': async () => import('../account/app-activity.test.ts'),
  'app-keys': async () => import('../account/app-keys.test.ts'),
  'app-list': async () => import('../account/app-list.test.ts'),
  'app-names': async () => import('../account/app-names.test.ts'),
  'app-permissions': async () => import('../account/app-permissions.test.ts'),
  'app-secrets': async () => import('../account/app-secrets.test.ts'),
  'app-settings': async () => import('../account/app-settings.test.ts'),
  attacks: async () => import('../account/attacks.test.ts'),
  'authorized-apps': async () => import('../account/authorized-apps.test.ts'),
  'authorized-app-pages': async () => import('../account/authorized-app-pages.test.ts'),
  'developer-area': async () => import('../account/developer-area.test.ts'),
  'developer-pages': async () => import('../account/developer-pages.test.ts'),
  'new-app': async () => import('../account/new-app.test.ts'),
});
