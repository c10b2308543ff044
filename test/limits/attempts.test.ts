import { setImmediate } from 'node:timers/promises';

import test from '../harness/test.ts';

import { passTime, stopClock } from '../harness/clock.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createCounters } from '../../lib/limits/counters.ts';

type Store = ReturnType<typeof memoryStorage>['attempts'];
type Counted = Awaited<ReturnType<Store['count']>>;

const ONE_OF_ANN = [{ id: 'ann', limit: 1 }];

function attemptsOn(store: Store) {
  return createCounters(store, { window: 60, remembered: 10 });
}

/** A store whose answers to the first count that matches are delayed, as one connection of a pool can be. */
function delaying(
  store: Store,
  matches: (counted: Counted) => boolean,
): { store: Store; answer: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isDelayed = false;
  return {
    answer() {
      if (!isDelayed) throw new Error('no answer is delayed yet');
      resolve();
    },
    store: {
      ...store,
      async count(...given) {
        const counted = await store.count(...given);
        if (!isDelayed && matches(counted)) {
          isDelayed = true;
          await promise;
        }
        return counted;
      },
    },
  };
}

test('concurrent attempts wait until attempts in progress are given back', async (t) => {
  const attempts = attemptsOn(memoryStorage().attempts);
  const counters = [
    { id: 'ann', limit: 2 },
    { id: 'address', limit: 3 },
  ];
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
  await t.notThrowsAsync(attempts.begin([shared]));
});

test('an attempt waits for one that the database counted first and that this node learns of later', async (t) => {
  const { answer, store } = delaying(memoryStorage().attempts, ({ full }) => full === undefined);
  const attempts = attemptsOn(store);
  const first = attempts.begin(ONE_OF_ANN);
  const second = attempts.begin(ONE_OF_ANN);
  await Promise.race([second, setImmediate()]);
  answer();
  await first;
  await attempts.end(ONE_OF_ANN, true);
  await t.notThrowsAsync(second);
  await attempts.end(ONE_OF_ANN, false);
  await t.throwsAsync(attempts.begin(ONE_OF_ANN), { code: 'ERR_TOO_MANY_ATTEMPTS' });
});

test('when all counts are refused, attempts and those that wait for them are rejected', async (t) => {
  const store = memoryStorage().attempts;
  await attemptsOn(store).begin(ONE_OF_ANN);
  const attempts = attemptsOn(store);
  const settled = await Promise.allSettled(
    Array.from({ length: 5 }, async () => attempts.begin([...ONE_OF_ANN, { id: 'address', limit: 1 }])),
  );
  t.true(settled.every(({ status }) => status === 'rejected'));
  t.is((await store.count([{ id: 'address', limit: 1 }], { now: 0, expiresAt: 1 })).full, undefined);
});

test('attempts that wait for a refused one are resumed, whichever counter refused it', async (t) => {
  const { attempts: counted } = memoryStorage();
  const full = { id: 'full', limit: 1 };
  for (const counters of [[full], ONE_OF_ANN]) await counted.count(counters, { now: 0, expiresAt: 9e9 });
  // The refusal arrives after the other attempt has begun to wait.
  const { answer, store } = delaying(counted, (result) => result.full?.id === 'full');
  const attempts = attemptsOn(store);
  const refused = attempts.begin([full, ...ONE_OF_ANN]);
  const waiting = attempts.begin(ONE_OF_ANN);
  await setImmediate();
  await counted.release(['ann']);
  answer();
  await t.throwsAsync(refused, { code: 'ERR_TOO_MANY_ATTEMPTS' });
  await t.notThrowsAsync(waiting);
});

test.serial(
  'after its window a full counter is not remembered, so that nothing has to be checked',
  async (t) => {
    using _stopped = stopClock();
    const attempts = attemptsOn(memoryStorage().attempts);
    await attempts.count(ONE_OF_ANN);
    await t.throwsAsync(attempts.count(ONE_OF_ANN), { code: 'ERR_TOO_MANY_ATTEMPTS' });
    t.false(attempts.isEmpty);
    t.throws(() => attempts.check(ONE_OF_ANN), { code: 'ERR_TOO_MANY_ATTEMPTS' });
    passTime(3600);
    attempts.check(ONE_OF_ANN);
    t.true(attempts.isEmpty);
  },
);
