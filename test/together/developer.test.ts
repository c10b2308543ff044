import { together } from '../harness/together.ts';

await together({
  'app-activity': async () => import('../developer/app-activity.test.ts'),
  'app-keys': async () => import('../developer/app-keys.test.ts'),
  'app-list': async () => import('../developer/app-list.test.ts'),
  'app-names': async () => import('../developer/app-names.test.ts'),
  'app-permissions': async () => import('../developer/app-permissions.test.ts'),
  'app-secrets': async () => import('../developer/app-secrets.test.ts'),
  'app-settings': async () => import('../developer/app-settings.test.ts'),
  attacks: async () => import('../developer/attacks.test.ts'),
  'authorized-apps': async () => import('../developer/authorized-apps.test.ts'),
  'authorized-app-pages': async () => import('../developer/authorized-app-pages.test.ts'),
  'developer-area': async () => import('../developer/developer-area.test.ts'),
  'developer-pages': async () => import('../developer/developer-pages.test.ts'),
  'new-app': async () => import('../developer/new-app.test.ts'),
});
