import { together } from '../harness/together.ts';

await together({
  'first-party': async () => import('../developer/first-party.test.ts'),
  'atomic-bulk': async () => import('../api/atomic-bulk.test.ts'),
  'flooded-record': async () => import('../audit/flooded-record.test.ts'),
  'two-nodes': async () => import('../examples/two-nodes.test.ts'),
});
