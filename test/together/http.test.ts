import { together } from '../harness/together.ts';

await together({
  body: async () => import('../http/body.test.ts'),
  'json-body': async () => import('../http/json-body.test.ts'),
  'public-fetch': async () => import('../http/public-fetch.test.ts'),
  'same-origin': async () => import('../http/same-origin.test.ts'),
});
