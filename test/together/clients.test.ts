import { together } from '../harness/together.ts';

await together({
  directory: async () => import('../clients/directory.test.ts'),
  'last-use': async () => import('../clients/last-use.test.ts'),
  oauth4webapi: async () => import('../clients/oauth4webapi.test.ts'),
  'openid-client': async () => import('../clients/openid-client.test.ts'),
  'private-key-jwt': async () => import('../clients/private-key-jwt.test.ts'),
  'public-keys': async () => import('../clients/public-keys.test.ts'),
  'simple-oauth2': async () => import('../clients/simple-oauth2.test.ts'),
});
