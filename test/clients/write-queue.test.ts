import { setImmediate as nextTurn } from 'node:timers/promises';

import test from '../harness/test.ts';

import { createWriteQueue } from '../../lib/clients/last-use.ts';

test('each call of written() waits for the write after one that failed, whoever began it', async (t) => {
  const [failed, repeated] = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
  let writes = 0;
  const stored: string[] = [];
  const queue = createWriteQueue<string>(async (waiting) => {
    writes += 1;
    if (writes === 1) return failed.promise;
    const taken = waiting.splice(0);
    await repeated.promise;
    stored.push(...taken);
    return true;
  });
  queue.add('a use');
  const first = queue.written();
  await nextTurn();
  const others = [queue.written(), queue.written()].map(async (written) => {
    await written;
    return stored.join(', ');
  });
  failed.resolve(false);
  await first;
  await nextTurn();
  repeated.resolve(true);
  t.deepEqual(await Promise.all(others), ['a use', 'a use']);
});
