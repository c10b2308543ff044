import { setImmediate } from 'node:timers/promises';

import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createAttemptQueue, createBlockedAttempts } from '../../lib/throttle/attempts.ts';

test('concurrent attempts wait until attempts in progress are given back', async (t) => {
  const { attempts } = memoryStorage();
  const blocked = createBlockedAttempts(10);
  const queue = createAttemptQueue(attempts, { limit: 2, blocked, window: 60 });
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      await queue.take('ann');
      await queue.end('ann', 'given back');
    }),
  );
  t.notThrows(() => queue.check('ann'));
});

test('an attempt waits for one that the database counted first and that this node learns of later', async (t) => {
  const { attempts } = memoryStorage();
  const answers: (() => void)[] = [];
  const store = {
    ...attempts,
    async count(...given: Parameters<typeof attempts.count>) {
      const end = await attempts.count(...given);
      // The response of one connection of the pool is delayed.
      if (end === undefined && answers.length === 0) {
        await new Promise<void>((resolve) => answers.push(resolve));
      }
      return end;
    },
  };
  const queue = createAttemptQueue(store, { limit: 1, blocked: createBlockedAttempts(10), window: 60 });
  const first = queue.take('ann');
  const second = queue.take('ann');
  await Promise.race([second, setImmediate()]);
  answers[0]!();
  await first;
  await queue.end('ann', 'given back');
  await t.notThrowsAsync(second);
  await queue.end('ann', 'counted');
  await t.throwsAsync(queue.take('ann'), { code: 'ERR_TOO_MANY_ATTEMPTS' });
});

test('when all counts are refused, attempts and those that wait for them are rejected', async (t) => {
  const { attempts } = memoryStorage();
  const blocked = createBlockedAttempts(10);
  const others = createAttemptQueue(attempts, { limit: 1, blocked: createBlockedAttempts(10), window: 60 });
  await others.take('ann');
  const queue = createAttemptQueue(attempts, { limit: 1, blocked, window: 60 });
  const settled = await Promise.allSettled(Array.from({ length: 5 }, async () => queue.take('ann')));
  t.deepEqual(new Set(settled.map(({ status }) => status)), new Set(['rejected']));
});
