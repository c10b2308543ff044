import { setImmediate } from 'node:timers/promises';

import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createCounters } from '../../lib/limits/counters.ts';

type Store = ReturnType<typeof memoryStorage>['attempts'];

function attemptsOn(store: Store) {
  return createCounters(store, { window: 60, remembered: 10 });
}

function ofAnn(limit: number) {
  return [{ id: 'ann', limit }];
}

test('concurrent attempts wait until attempts in progress are given back', async (t) => {
  const attempts = attemptsOn(memoryStorage().attempts);
  const counters = [...ofAnn(2), { id: 'address', limit: 3 }];
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      await attempts.begin(counters);
      await attempts.end(counters, true);
    }),
  );
  await t.notThrowsAsync(attempts.begin(counters));
});

test('attempts with different counters wait for those that they share', async (t) => {
  const attempts = attemptsOn(memoryStorage().attempts);
  const shared = { id: 'address', limit: 1 };
  const passed = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const counters = [{ id: `account ${index % 2}`, limit: 1 }, shared];
      await attempts.begin(counters);
      await setImmediate();
      await attempts.end(counters, true);
      return index;
    }),
  );
  t.is(passed.length, 8);
});

test('an attempt waits for one that the database counted first and that this node learns of later', async (t) => {
  const store = memoryStorage().attempts;
  const answers: (() => void)[] = [];
  const attempts = attemptsOn({
    ...store,
    async count(...given) {
      const counted = await store.count(...given);
      // The response of one connection of the pool is delayed.
      if (counted.full === undefined && answers.length === 0) {
        await new Promise<void>((resolve) => answers.push(resolve));
      }
      return counted;
    },
  });
  const first = attempts.begin(ofAnn(1));
  const second = attempts.begin(ofAnn(1));
  await Promise.race([second, setImmediate()]);
  answers[0]!();
  await first;
  await attempts.end(ofAnn(1), true);
  await t.notThrowsAsync(second);
  await attempts.end(ofAnn(1), false);
  await t.throwsAsync(attempts.begin(ofAnn(1)), { code: 'ERR_TOO_MANY_ATTEMPTS' });
});

test('when all counts are refused, attempts and those that wait for them are rejected', async (t) => {
  const store = memoryStorage().attempts;
  await attemptsOn(store).begin(ofAnn(1));
  const attempts = attemptsOn(store);
  const settled = await Promise.allSettled(
    Array.from({ length: 5 }, async () => attempts.begin([...ofAnn(1), { id: 'address', limit: 1 }])),
  );
  t.deepEqual(new Set(settled.map(({ status }) => status)), new Set(['rejected']));
  t.is((await store.count([{ id: 'address', limit: 1 }], { now: 0, expiresAt: 1 })).full, undefined);
});

test('attempts that wait for a refused one are resumed, whichever counter refused it', async (t) => {
  const store = memoryStorage().attempts;
  await store.count([{ id: 'full', limit: 1 }], { now: 0, expiresAt: 9e9 });
  const answers: (() => void)[] = [];
  const attempts = attemptsOn({
    ...store,
    async count(...given) {
      const counted = await store.count(...given);
      // The refusal arrives after the other attempt has begun to wait.
      if (counted.full?.id === 'full') await new Promise<void>((resolve) => answers.push(resolve));
      return counted;
    },
  });
  await store.count(ofAnn(1), { now: 0, expiresAt: 9e9 });
  const refused = attempts.begin([{ id: 'full', limit: 1 }, ...ofAnn(1)]);
  const waiting = attempts.begin(ofAnn(1));
  await setImmediate();
  await store.release(['ann']);
  answers[0]!();
  await t.throwsAsync(refused, { code: 'ERR_TOO_MANY_ATTEMPTS' });
  await t.notThrowsAsync(waiting);
});
