import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { AttemptStore, CallerLimiter, ReservedAttempts } from '../../lib/contracts/index.ts';
import { createLimitCallers } from '../../lib/limits/caller-limits.ts';
import { createAttemptIds } from '../../lib/limits/limiter.ts';

import { passTime } from '../harness/clock.ts';

const HOUR = 3600;

type Store = Pick<AttemptStore, 'reserve'>;

/** The limiter of a caller on a node. */
function callerOn(store: Store, requests: number, { caller = 'ann', window = HOUR } = {}): CallerLimiter {
  const limitCallers = createLimitCallers(store, { ids: createAttemptIds(() => ['secret']), onRefused() {} });
  return limitCallers({ name: 'user', requests, window })(caller);
}

/** A store that records what was taken from it, and by which ids. */
function recordingStore(): Store & { readonly taken: ReservedAttempts[]; readonly ids: string[] } {
  const { attempts } = memoryStorage();
  const [taken, ids]: [ReservedAttempts[], string[]] = [[], []];
  return {
    taken,
    ids,
    async reserve(counter, window) {
      const reserved = await attempts.reserve(counter, window);
      taken.push(reserved);
      ids.push(counter.id);
      return reserved;
    },
  };
}

/** How many of a number of requests, one after the other, are accepted. */
async function accepted(limiter: CallerLimiter, requests: number): Promise<number> {
  let sum = 0;
  for (let index = 0; index < requests; index += 1) if ((await limiter.take(1)) !== undefined) sum += 1;
  return sum;
}

// Set the clock ahead: the tests below them start afterwards.
test.serial('when the window ends, the whole limit is available again, without what was left', async (t) => {
  const limiter = callerOn(memoryStorage().attempts, 100);
  t.is(await accepted(limiter, 61), 61);
  passTime(HOUR);
  t.is(limiter.remaining, 100);
  t.is(await accepted(limiter, 130), 100);
  t.is(limiter.remaining, 0);
  t.true(limiter.seconds > HOUR - 60 && limiter.seconds <= HOUR);
});

test.serial('a request whose storage answers after the end of the window is answered', async (t) => {
  const { attempts } = memoryStorage();
  const slow: Store = {
    async reserve(...given) {
      const taken = await attempts.reserve(...given);
      passTime(2);
      return taken;
    },
  };
  const limiter = callerOn(slow, 1, { window: 1 });
  t.truthy(await limiter.take(1));
  t.truthy(await limiter.take(1));
});

test.serial('what is given back is available again on this node, and not in the next window', async (t) => {
  const limiter = callerOn(memoryStorage().attempts, 10);
  const window = (await limiter.take(10))!;
  t.is(await limiter.take(1), undefined);
  limiter.giveBack(2, window);
  t.is(limiter.remaining, 2);
  t.is(await accepted(limiter, 5), 2);
  passTime(HOUR);
  t.is(await accepted(limiter, 4), 4);
  limiter.giveBack(5, window);
  t.is(await accepted(limiter, 10), 6);
});

test('one node can use the whole limit, and writes seldom: no more when it remembers a refusal', async (t) => {
  for (const requests of [1, 7, 60, 600, 10_000]) {
    const store = recordingStore();
    const limiter = callerOn(store, requests);
    t.is(await accepted(limiter, requests + 1), requests);
    const { length } = store.taken;
    t.true(length <= 30, `${requests}: ${length}`);
    t.is(await accepted(limiter, 100), 0);
    t.is(store.taken.length, length);
  }
  const seldom = recordingStore();
  const limiter = callerOn(seldom, 600);
  t.is(await accepted(limiter, 12), 12);
  t.is(seldom.taken.length, 1);
  t.is(limiter.remaining, 588);
});

// The bounds of docs/review/scaling.md.
for (const [nodes, percent] of [
  [2, 95],
  [5, 92],
  [10, 82],
] as const) {
  test(`a caller of ${nodes} nodes is refused at ${percent} % of the limit at the earliest, and never after it`, async (t) => {
    for (const [order, nodeOf] of [
      ['in turn', (index: number) => index % nodes],
      ['at random', () => Math.floor(Math.random() * nodes)],
      ['one after the other', (index: number) => Math.floor((index / 3000) * nodes)],
    ] as const) {
      const store = memoryStorage().attempts;
      const callers = Array.from({ length: nodes }, () => callerOn(store, 1000));
      let sum = 0;
      let first: number | undefined;
      for (let index = 0; index < 3000; index += 1) {
        if ((await callers[nodeOf(index)]!.take(1)) === undefined) first ??= sum;
        else sum += 1;
      }
      t.true(first! >= percent * 10, `${order}: ${first}`);
      // A node that gets no more requests keeps what it has taken.
      if (order === 'one after the other') t.true(sum >= percent * 10 && sum <= 1000, `${sum}`);
      else t.is(sum, 1000, order);
    }
  });
}

test('requests at once wait for one write, and none is accepted above the limit', async (t) => {
  const store = recordingStore();
  const callers = [callerOn(store, 300), callerOn(store, 300)];
  const all = await Promise.all(
    Array.from({ length: 1000 }, async (_, index) => callers[index % 2]!.take(1)),
  );
  t.is(all.filter((window) => window !== undefined).length, 300);
  t.true(store.taken.length <= 4, `${store.taken.length}`);
});

test('when another node, whose clock is ahead, has begun a window, the rest of the last one is not used in it', async (t) => {
  const store = recordingStore();
  const ahead: Store = {
    reserve: async (id, { now, expiresAt, ...window }) =>
      store.reserve(id, { ...window, now: now + HOUR, expiresAt: expiresAt + HOUR }),
  };
  const [behind, other] = [callerOn(store, 100), callerOn(ahead, 100)];
  await behind.take(3);
  t.truthy(await behind.take(1));
  t.is(await accepted(other, 10), 10);
  // Takes three: its share of the first window has none left, or is not enough.
  let sum = 10;
  for (const count of [5, 7, 11]) if ((await behind.take(count)) !== undefined) sum += count;
  sum += await accepted(behind, 200);
  sum += await accepted(other, 200);
  t.true(sum <= 100, `${sum}`);
  const ofNext = store.taken.filter(({ expiresAt }) => expiresAt === store.taken.at(-1)!.expiresAt);
  const reserved = ofNext.reduce((all, taken) => all + taken.reserved, 0);
  t.is(reserved, 100);
});

test('when the storage fails, the waiting requests fail, and later ones try again', async (t) => {
  const { attempts } = memoryStorage();
  let isBroken = true;
  const store: Store = {
    async reserve(...given) {
      if (isBroken) throw new Error('unreachable');
      return attempts.reserve(...given);
    },
  };
  const limiter = callerOn(store, 3);
  const settled = await Promise.allSettled([limiter.take(1), limiter.take(1)]);
  t.true(settled.every(({ status }) => status === 'rejected'));
  isBroken = false;
  t.is(await accepted(limiter, 9), 3);
});

test('callers and limits are counted apart, and the ids in the storage do not reveal them', async (t) => {
  const store = recordingStore();
  for (const caller of ['ann', 'bob']) t.is(await accepted(callerOn(store, 1, { caller }), 2), 1);
  t.is(await accepted(callerOn(store, 2), 3), 2);
  t.is(await accepted(callerOn(store, 2, { window: 60 }), 3), 2);
  t.is(await accepted(callerOn(store, 2, { window: 60 }), 3), 0, 'another node');
  for (const id of store.ids) t.regex(id, /^[\w-]{43}$/);
});
