import test from 'ava';
import { LRUCache } from 'lru-cache';

import { plan, readShare, waitOf99 } from './model.ts';
import type { Costs, Load } from './model.ts';

const COSTS: Costs = {
  guardCached: 60,
  guardRead: 100,
  guardVerify: 150,
  refresh: 1000,
  authorization: 2000,
  clientCredentials: 500,
  databaseRead: 30,
  databaseWrite: 300,
};

const LOAD: Load = {
  rate: 1000,
  pause: 10,
  accessToken: 3600,
  authorizations: 30 * 86_400,
  clientTokens: 0,
  revocationLag: 5,
  cachedTokens: 10_000,
  affinity: false,
};

/** Numbers between 0 and 1, the same in every run (a linear congruential generator). */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return (state + 0.5) / 2 ** 32;
  };
}

test('the share of requests that read is that of a simulation of the token cache', (t) => {
  for (const { lag, processes, tokens } of [
    { tokens: 1000, processes: 1, lag: 5 },
    { tokens: 1000, processes: 8, lag: 5 },
    { tokens: 5000, processes: 4, lag: 60 },
  ]) {
    const random = randomNumbers();
    const rate = 1000;
    const readAt = Array.from({ length: processes }, () => new LRUCache<number, number>({ max: 10_000 }));
    let time = 0;
    let reads = 0;
    const requests = 400_000;
    for (let index = 0; index < requests; index += 1) {
      time -= Math.log(random()) / rate;
      const cache = readAt[Math.floor(random() * processes)]!;
      const token = Math.floor(random() * tokens);
      const last = cache.get(token);
      if (last !== undefined && time - last < lag) continue;
      cache.set(token, time);
      // The caches are empty at first.
      if (index >= requests / 2) reads += 2;
    }
    const expected = readShare(rate / tokens / processes, lag);
    t.true(Math.abs(reads / requests / expected - 1) < 0.05, `${reads / requests} for ${expected}`);
  }
});

test('the wait is that of a simulation of a queue', (t) => {
  for (const utilisation of [0.3, 0.7]) {
    const random = randomNumbers();
    const waits: number[] = [];
    let free = 0;
    let time = 0;
    for (let index = 0; index < 400_000; index += 1) {
      time -= Math.log(random()) / utilisation;
      waits.push(Math.max(0, free - time));
      free = Math.max(free, time) - Math.log(random());
    }
    waits.sort((one, other) => one - other);
    const simulated = waits[Math.floor(waits.length * 0.99)]!;
    t.true(Math.abs(simulated / waitOf99(utilisation, 1) - 1) < 0.1, `${simulated} at ${utilisation}`);
  }
});

test('affinity, a longer revocationLag and a larger cache save reads', (t) => {
  const rate = 100_000;
  const cachedTokens = 100_000;
  const apart = plan({ ...LOAD, rate }, COSTS);
  const together = plan({ ...LOAD, rate, affinity: true, cachedTokens }, COSTS);
  const longer = plan({ ...LOAD, rate, affinity: true, cachedTokens, revocationLag: 60 }, COSTS);
  t.deepEqual(
    [apart, together, longer].map((one) => Math.round(one.readShare * 100)),
    [99, 67, 14],
  );
  t.true(apart.processes > together.processes && together.processes > longer.processes);
  const evicting = plan({ ...LOAD, rate, affinity: true, revocationLag: 60 }, COSTS);
  t.true(evicting.readShare > longer.readShare * 2);
});
