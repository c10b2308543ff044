import { together } from '../harness/together.ts';

await together({
  'back-channel-logout': async () => import('../openid/back-channel-logout.test.ts'),
  keys: async () => import('../openid/keys.test.ts'),
  'logout-sender': async () => import('../openid/logout-sender.test.ts'),
});
