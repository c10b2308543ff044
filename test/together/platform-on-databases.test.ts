import { together } from '../harness/together.ts';

await together({
  'first-party': async () => import('../account/first-party.test.ts'),
  'atomic-bulk': async () => import('../api/atomic-bulk.test.ts'),
  'flooded-record': async () => import('../record/flooded-record.test.ts'),
  'two-nodes': async () => import('../examples/two-nodes.test.ts'),
});
