import { together } from '../harness/together.ts';

await together({
  'changing-files': async () => import('../pdf/changing-files.test.ts'),
  'service-limits': async () => import('../pdf/service-limits.test.ts'),
  'service-urls': async () => import('../pdf/service-urls.test.ts'),
});
