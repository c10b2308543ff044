import { readFile } from 'node:fs/promises';

import test from '../../test/harness/test.ts';
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
  idle: 1000,
  databaseIdle: 500,
  coldGuard: 600,
  coldRead: 100,
  coldToken: 1000,
  warmFor: 0.02,
  databaseCold: 300,
  databaseWarmFor: 0.004,
  poolerStatement: 20,
  databaseUnpreparedRead: 100,
  databaseUnpreparedWrite: 500,
  pruneRow: 10,
  databasePruneRow: 40,
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
  pooler: false,
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

test('a process at a low rate costs what it costs idle, and more for each request than at a high one', (t) => {
  const cached = { ...LOAD, pause: 0.001, authorizations: Infinity, accessToken: Infinity };
  const [none, low, high] = [1e-6, 10, 5000].map((rate) => plan({ ...cached, rate }, COSTS));
  t.is(Math.round(none!.cores * 1e6), COSTS.idle);
  t.is(Math.round(none!.databaseCores * 1e6), COSTS.databaseIdle);
  const [first, second] = [low!, high!].map(
    ({ cores, processes }, index) => (cores * 1e6 - processes * COSTS.idle) / [10, 5000][index]!,
  );
  // Ten a second: five of six requests come when the process was not busy for 20 ms.
  t.true(Math.abs(first! / (COSTS.guardCached + (600 * 5) / 6) - 1) < 0.02, `${first}`);
  t.true(second! < COSTS.guardCached * 1.15, `${second}`);
});

test('each row that an operation adds is pruned', (t) => {
  const load = { ...LOAD, rate: 100_000, clientTokens: 0.001 };
  const [without, pruned] = [{ ...COSTS, pruneRow: 0, databasePruneRow: 0 }, COSTS].map((costs) =>
    plan(load, costs),
  );
  // Of a million tokens: 278 refreshes with two rows each, 0.4 authorizations with four; and 100 tokens of clients.
  t.is(Math.round(pruned!.prunedRows), 657);
  t.is(Math.round((pruned!.cores - without!.cores) * 1e6), Math.round(pruned!.prunedRows * COSTS.pruneRow));
  const added = (pruned!.databaseCores - without!.databaseCores) * 1e6;
  t.is(Math.round(added), Math.round(pruned!.prunedRows * COSTS.databasePruneRow));
});

test('PgBouncer costs its own time for each statement, and the database that of planning it', (t) => {
  const [direct, pooled] = [false, true].map((pooler) => plan({ ...LOAD, rate: 100_000, pooler }, COSTS));
  const statements = direct!.databaseReads + 2 * direct!.databaseWrites;
  t.is(direct!.poolerCores, 0);
  t.is(Math.round(pooled!.poolerCores * 1e6), Math.round(statements * COSTS.poolerStatement));
  const added = (pooled!.databaseCores - direct!.databaseCores) * 1e6;
  t.is(Math.round(added), Math.round(direct!.databaseReads * 100 + direct!.databaseWrites * 500));
});

// By low-rates.ts, in the run that costs.json is from: microseconds of the process for a request, without those of an idle second.
const MEASURED: readonly { readonly what: Partial<Load>; readonly each: Readonly<Record<number, number>> }[] =
  [
    { what: { pause: 0.001 }, each: { 20: 714, 100: 351, 300: 215 } },
    { what: { pause: 1e6 }, each: { 20: 1273, 100: 691, 300: 447 } },
  ];

test('the plan for low rates is what was measured, to a quarter', async (t) => {
  const costs: Costs = JSON.parse(await readFile(new URL('costs.json', import.meta.url), 'utf8'));
  for (const { what, each } of MEASURED) {
    for (const [rate, measured] of Object.entries(each)) {
      const load = {
        ...LOAD,
        ...what,
        accessToken: Infinity,
        authorizations: Infinity,
        cachedTokens: Infinity,
      };
      const { cores } = plan({ ...load, rate: Number(rate) }, costs);
      const planned = (cores * 1e6 - costs.idle) / Number(rate);
      t.true(Math.abs(planned / measured - 1) < 0.25, `${planned} for ${measured} at ${rate}`);
    }
  }
});
