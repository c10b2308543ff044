import type { AttemptCounter, AttemptStore, AttemptWindow } from '../../lib/contracts/index.ts';
import { HOUR, LOOKALIKES, NOW } from './rows.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

const END = NOW + HOUR;

const WINDOW: AttemptWindow = { now: NOW, expiresAt: END };

/** Counts an attempt in one counter. Resolves to the end of the window when its limit is reached. */
async function count(
  attempts: AttemptStore,
  id: string,
  { limit = 3, ...window }: Partial<AttemptWindow & { limit: number }> = {},
): Promise<number | undefined> {
  return (await attempts.count([{ id, limit }], { ...WINDOW, ...window })).full?.expiresAt;
}

export function attemptContract(register: StorageTest): void {
  const test = testsOf(register, 'attempts');

  test('attempts: count returns undefined up to the limit, then the end of the window', async (t, attempts) => {
    for (let time = 1; time <= 3; time += 1) t.is(await count(attempts, 'a'), undefined);
    const late = { now: NOW + 60, expiresAt: END + 60 };
    t.is(await count(attempts, 'a', late), END, 'the end that the first attempt set');
    t.is(await count(attempts, 'a', late), END);
    t.is(await count(attempts, 'b'), undefined, 'another id');
  });

  test('attempts: the end of a window is set by its first attempt, not by later ones', async (t, attempts) => {
    for (let time = 0; time < 3; time += 1) {
      await count(attempts, 'a', { now: NOW + time * 60, expiresAt: END + time * 60 });
    }
    t.is(await count(attempts, 'a', { now: END - 1, expiresAt: END + HOUR }), END);
    t.is(await count(attempts, 'a', { now: END, expiresAt: END + HOUR }), undefined, 'a new window');
  });

  test('attempts: the limit of a counter may be any whole number', async (t, attempts) => {
    const limit = Number.MAX_SAFE_INTEGER;
    t.is(await count(attempts, 'a', { limit }), undefined);
    t.is(await count(attempts, 'a', { limit }), undefined);
    const left = { reserved: 5, left: limit - 7, expiresAt: END };
    t.deepEqual(await attempts.reserve({ id: 'a', limit }, { ...WINDOW, amount: 5 }), left);
  });

  test('attempts: of a hundred calls of count at once, exactly as many as the limit return undefined', async (t, attempts) => {
    for (const limit of [1, 7]) {
      const ends = await atOnce(100, async () => count(attempts, `${limit}`, { limit }));
      t.is(ends.filter((end) => end === undefined).length, limit);
      t.deepEqual([...new Set(ends.filter((end) => end !== undefined))], [END]);
    }
  });

  test('attempts: attempts above the limit are not counted', async (t, attempts) => {
    for (let time = 0; time < 10; time += 1) await count(attempts, 'a');
    await attempts.release(['a']);
    t.is(await count(attempts, 'a'), undefined);
    t.is(await count(attempts, 'a'), END);
  });

  test('attempts: counting starts again at the end of a window, also with a hundred calls at once', async (t, attempts) => {
    for (let time = 0; time < 3; time += 1) await count(attempts, 'a');
    t.is(await count(attempts, 'a', { now: END - 1 }), END);
    const next = { now: END, expiresAt: END + HOUR };
    const ends = await atOnce(100, async () => count(attempts, 'a', next));
    t.is(ends.filter((end) => end === undefined).length, 3);
    t.is(await count(attempts, 'a', next), END + HOUR);
  });

  test('attempts: release subtracts one attempt, never below zero, also with two calls at once', async (t, attempts) => {
    for (let time = 0; time < 3; time += 1) await count(attempts, 'a');
    await Promise.all([attempts.release(['a']), attempts.release(['a'])]);
    t.is(await count(attempts, 'a'), undefined);
    t.is(await count(attempts, 'a'), undefined);
    t.is(await count(attempts, 'a'), END);
    for (let time = 0; time < 10; time += 1) await attempts.release(['a']);
    for (let time = 0; time < 3; time += 1) t.is(await count(attempts, 'a'), undefined);
    t.is(await count(attempts, 'a'), END, 'the limit is not exceeded');
    await attempts.release(['unknown']);
  });

  test('attempts: release resets a counter, with its window', async (t, attempts) => {
    for (let time = 0; time < 3; time += 1) await count(attempts, 'a');
    await attempts.release([], ['a']);
    await attempts.release([], ['a']);
    t.is(await count(attempts, 'a', { now: NOW + 9, expiresAt: END + 9, limit: 1 }), undefined);
    t.is(await count(attempts, 'a', { limit: 1 }), END + 9);
  });

  const PAIR: readonly AttemptCounter[] = [
    { id: 'pair', limit: 2 },
    { id: 'account', limit: 5 },
    { id: 'address', limit: 9 },
  ];

  test('attempts: an attempt is counted in each of several counters, or in none', async (t, attempts) => {
    for (let time = 0; time < 2; time += 1) {
      t.is((await attempts.count(PAIR, WINDOW)).full, undefined);
    }
    for (let time = 0; time < 9; time += 1) {
      t.deepEqual(await attempts.count(PAIR, WINDOW), { full: { id: 'pair', expiresAt: END } });
    }
    for (let time = 0; time < 3; time += 1) t.is(await count(attempts, 'account', { limit: 5 }), undefined);
    t.is(await count(attempts, 'account', { limit: 5 }), END, 'those that were refused are not counted');
  });

  test('attempts: of a hundred attempts at once with several counters, no counter exceeds its limit', async (t, attempts) => {
    const counted = await atOnce(100, async (index) => {
      const counters = PAIR.with(0, { id: `pair ${index % 3}`, limit: 2 });
      return attempts.count(index % 2 === 0 ? counters : counters.toReversed(), WINDOW);
    });
    const taken = counted.filter(({ full }) => full === undefined);
    t.is(taken.length, 5, 'the limit of the account');
    for (let time = taken.length; time < 9; time += 1)
      t.is(await count(attempts, 'address', { limit: 9 }), undefined, 'none was lost');
    t.is(await count(attempts, 'address', { limit: 9 }), END);
  });

  test('attempts: release uncounts one attempt in some counters, and resets others', async (t, attempts) => {
    for (let time = 0; time < 2; time += 1) await attempts.count(PAIR, WINDOW);
    await attempts.release(['account', 'address'], ['pair']);
    const later = { now: NOW + 60, expiresAt: END + 60 };
    t.is(await count(attempts, 'pair', { ...later, limit: 1 }), undefined);
    t.is(await count(attempts, 'pair', { ...later, limit: 1 }), END + 60, 'a new window');
    for (let time = 0; time < 4; time += 1)
      t.is(await count(attempts, 'account', { ...later, limit: 5 }), undefined);
    t.is(await count(attempts, 'account', { ...later, limit: 5 }), END, 'the window is as before');
  });

  test('attempts: count tells the sequence of the revocations', async (t, attempts, storage) => {
    const sequenceOf = async (id: string) => {
      const counted = await attempts.count([{ id, limit: 1 }], WINDOW);
      return 'sequence' in counted ? counted.sequence : undefined;
    };
    t.is(await sequenceOf('a'), await storage.revocations.latestSequence());
    await storage.revocations.revokeAllOf({ userId: 'ann' });
    t.is(await sequenceOf('b'), await storage.revocations.latestSequence());
  });

  test('attempts: reserve counts as many as are left, and says how many and until when', async (t, attempts) => {
    const reserve = async (amount: number, fields: Partial<AttemptWindow> = {}) =>
      attempts.reserve({ id: 'a', limit: 10 }, { ...WINDOW, ...fields, amount });
    t.deepEqual(await reserve(4), { reserved: 4, left: 6, expiresAt: END });
    const late = { now: NOW + 60, expiresAt: END + 60 };
    t.deepEqual(
      await reserve(5, late),
      { reserved: 5, left: 1, expiresAt: END },
      'the end that the first call set',
    );
    t.deepEqual(await reserve(5, late), { reserved: 1, left: 0, expiresAt: END }, 'fewer are left');
    t.deepEqual(await reserve(1, late), { reserved: 0, left: 0, expiresAt: END });
    t.is(await count(attempts, 'a', { limit: 10 }), END, 'count sees them');
    const next = { now: END, expiresAt: END + HOUR };
    t.deepEqual(await reserve(25, next), { reserved: 10, left: 0, expiresAt: END + HOUR }, 'a new window');
    t.deepEqual(await attempts.reserve({ id: 'b', limit: 10 }, { ...WINDOW, amount: 25 }), {
      reserved: 10,
      left: 0,
      expiresAt: END,
    });
  });

  test('attempts: calls of reserve at once reserve the limit together, also when they open the next window', async (t, attempts) => {
    for (const at of [NOW, END]) {
      const counter = { id: 'a', limit: 100 };
      const window = { now: at, expiresAt: at + HOUR };
      const all = await atOnce(60, async (index) =>
        attempts.reserve(counter, { ...window, amount: 1 + (index % 7) }),
      );
      t.is(
        all.reduce((sum, { reserved }) => sum + reserved, 0),
        100,
      );
      t.deepEqual([...new Set(all.map(({ expiresAt }) => expiresAt))], [at + HOUR]);
      t.is((await attempts.reserve(counter, { ...window, amount: 1 })).reserved, 0);
    }
  });

  test('attempts: ids are compared exactly', async (t, attempts) => {
    await count(attempts, 'Id', { limit: 1 });
    for (const id of LOOKALIKES) {
      t.is(await count(attempts, id, { limit: 1 }), undefined, id);
      await attempts.release([id]);
      await attempts.release([], [id]);
    }
    t.is(await count(attempts, 'Id', { limit: 1 }), END);
  });
}
