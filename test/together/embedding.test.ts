import { together } from '../harness/together.ts';

await together({
  'host-app': async () => import('../embedding/host-app.test.ts'),
  'host-session': async () => import('../embedding/host-session.test.ts'),
  prefix: async () => import('../embedding/prefix.test.ts'),
  'stand-alone': async () => import('../embedding/stand-alone.test.ts'),
  'two-servers': async () => import('../embedding/two-servers.test.ts'),
});
