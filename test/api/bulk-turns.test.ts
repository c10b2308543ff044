// Alone: it counts turns of the event loop.
import test from 'ava';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import Koa from 'koa';
import { z } from 'zod';

import { listenerOf, startPlatform } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { requestClientToken } from '../harness/tokens.ts';

const BULKS = ['a', 'b', 'c', 'd'];
const ITEMS = 50;

test('of several bulks one goes on in each turn of the event loop', async (t) => {
  let turn = new Set<string>();
  const turns: Set<string>[] = [];
  const compute = defineAction({
    type: 'school',
    name: 'compute-action',
    level: 'collection',
    title: 'Compute',
    permission: 'view_schools',
    input: z.object({ bulk: z.string() }),
    output: z.object({}),
    run({ input }) {
      turn.add(input.bulk);
      const end = performance.now() + 1;
      while (performance.now() < end);
      return {};
    },
  });
  await using platform = await startPlatform(
    {},
    {
      app({ auth }) {
        const app = new Koa();
        app.use(auth.middleware()).use(createApiRouter({ auth, actions: [compute] }).routes());
        return listenerOf(app);
      },
    },
  );
  const service = await platform.registerService(['view_schools']);
  const { body } = await requestClientToken(platform, service);
  let isOver = false;
  setImmediate(function next() {
    if (turn.size > 0) turns.push(turn);
    turn = new Set();
    if (!isOver) setImmediate(next);
  });
  const answers = await Promise.all(
    BULKS.map((bulk) =>
      postJson(
        platform.url('/api/v1/actions/school/compute-action/bulk'),
        { items: Array.from({ length: ITEMS }, () => ({ input: { bulk } })) },
        { authorization: `Bearer ${body.access_token}` },
      ),
    ),
  );
  isOver = true;
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.true(turns.length > ITEMS, `${turns.length} turns`);
  // A bulk begins, and may end, in the turn of another one.
  const shared = turns.filter(({ size }) => size > 1).length;
  t.true(shared <= 2 * BULKS.length, `${shared} of ${turns.length} turns had more than one bulk`);
});
