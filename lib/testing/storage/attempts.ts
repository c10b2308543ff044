import type { AttemptWindow } from '../../contracts/index.ts';
import { HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

const END = NOW + HOUR;

function aWindow(fields: Partial<AttemptWindow> = {}): AttemptWindow {
  return { limit: 3, now: NOW, expiresAt: END, ...fields };
}

export function attemptContract(test: StorageTest): void {
  test('attempts: count returns undefined up to the limit, then the end of the window', async (t, {
    attempts,
  }) => {
    for (let count = 1; count <= 3; count += 1) t.is(await attempts.count('a', aWindow()), undefined);
    const late = aWindow({ now: NOW + 60, expiresAt: END + 60 });
    t.is(await attempts.count('a', late), END, 'the end that the first attempt set');
    t.is(await attempts.count('a', late), END);
    t.is(await attempts.count('b', aWindow()), undefined, 'another id');
  });

  test('attempts: the end of a window is set by its first attempt, not by later ones', async (t, {
    attempts,
  }) => {
    for (let count = 0; count < 3; count += 1) {
      await attempts.count('a', aWindow({ now: NOW + count * 60, expiresAt: END + count * 60 }));
    }
    t.is(await attempts.count('a', aWindow({ now: END - 1, expiresAt: END + HOUR })), END);
    t.is(await attempts.count('a', aWindow({ now: END, expiresAt: END + HOUR })), undefined, 'a new window');
  });

  test('attempts: of a hundred calls of count at once, exactly as many as the limit return undefined', async (t, {
    attempts,
  }) => {
    for (const limit of [1, 7]) {
      const ends = await Promise.all(
        Array.from({ length: 100 }, async () => attempts.count(`${limit}`, aWindow({ limit }))),
      );
      t.is(ends.filter((end) => end === undefined).length, limit);
      t.deepEqual([...new Set(ends.filter((end) => end !== undefined))], [END]);
    }
  });

  test('attempts: attempts above the limit are not counted', async (t, { attempts }) => {
    for (let count = 0; count < 10; count += 1) await attempts.count('a', aWindow());
    await attempts.giveBack('a');
    t.is(await attempts.count('a', aWindow()), undefined);
    t.is(await attempts.count('a', aWindow()), END);
  });

  test('attempts: counting starts again at the end of a window, also with a hundred calls at once', async (t, {
    attempts,
  }) => {
    for (let count = 0; count < 3; count += 1) await attempts.count('a', aWindow());
    t.is(await attempts.count('a', aWindow({ now: END - 1 })), END);
    const next = aWindow({ now: END, expiresAt: END + HOUR });
    const ends = await Promise.all(Array.from({ length: 100 }, async () => attempts.count('a', next)));
    t.is(ends.filter((end) => end === undefined).length, 3);
    t.is(await attempts.count('a', next), END + HOUR);
  });

  test('attempts: giveBack subtracts one attempt, never below zero, also with two calls at once', async (t, {
    attempts,
  }) => {
    for (let count = 0; count < 3; count += 1) await attempts.count('a', aWindow());
    await Promise.all([attempts.giveBack('a'), attempts.giveBack('a')]);
    t.is(await attempts.count('a', aWindow()), undefined);
    t.is(await attempts.count('a', aWindow()), undefined);
    t.is(await attempts.count('a', aWindow()), END);
    for (let count = 0; count < 10; count += 1) await attempts.giveBack('a');
    for (let count = 0; count < 3; count += 1) t.is(await attempts.count('a', aWindow()), undefined);
    t.is(await attempts.count('a', aWindow()), END, 'the limit is not exceeded');
    await attempts.giveBack('unknown');
  });

  test('attempts: forget deletes the count and the window of an id', async (t, { attempts }) => {
    for (let count = 0; count < 3; count += 1) await attempts.count('a', aWindow());
    await attempts.forget('a');
    await attempts.forget('a');
    t.is(await attempts.count('a', aWindow({ now: NOW + 9, expiresAt: END + 9, limit: 1 })), undefined);
    t.is(await attempts.count('a', aWindow({ limit: 1 })), END + 9);
  });

  test('attempts: take counts as many as are left, and says how many and until when', async (t, {
    attempts,
  }) => {
    const take = async (amount: number, fields: Partial<AttemptWindow> = {}) =>
      attempts.take('a', { ...aWindow({ limit: 10, ...fields }), amount });
    t.deepEqual(await take(4), { taken: 4, left: 6, expiresAt: END });
    const late = { now: NOW + 60, expiresAt: END + 60 };
    t.deepEqual(
      await take(5, late),
      { taken: 5, left: 1, expiresAt: END },
      'the end that the first call set',
    );
    t.deepEqual(await take(5, late), { taken: 1, left: 0, expiresAt: END }, 'fewer are left');
    t.deepEqual(await take(1, late), { taken: 0, left: 0, expiresAt: END });
    t.is(await attempts.count('a', aWindow({ limit: 10 })), END, 'count sees them');
    const next = { now: END, expiresAt: END + HOUR };
    t.deepEqual(await take(25, next), { taken: 10, left: 0, expiresAt: END + HOUR }, 'a new window');
    t.deepEqual(await attempts.take('b', { ...aWindow({ limit: 10 }), amount: 25 }), {
      taken: 10,
      left: 0,
      expiresAt: END,
    });
  });

  test('attempts: calls of take at once take the limit together, also when they open the next window', async (t, {
    attempts,
  }) => {
    for (const at of [NOW, END]) {
      const window = aWindow({ limit: 100, now: at, expiresAt: at + HOUR });
      const all = await Promise.all(
        Array.from({ length: 60 }, async (_, index) =>
          attempts.take('a', { ...window, amount: 1 + (index % 7) }),
        ),
      );
      t.is(
        all.reduce((sum, { taken }) => sum + taken, 0),
        100,
      );
      t.deepEqual([...new Set(all.map(({ expiresAt }) => expiresAt))], [at + HOUR]);
      t.is((await attempts.take('a', { ...window, amount: 1 })).taken, 0);
    }
  });

  test('attempts: ids are compared exactly', async (t, { attempts }) => {
    await attempts.count('Id', aWindow({ limit: 1 }));
    for (const id of LOOKALIKES) {
      t.is(await attempts.count(id, aWindow({ limit: 1 })), undefined, id);
      await attempts.giveBack(id);
      await attempts.forget(id);
    }
    t.is(await attempts.count('Id', aWindow({ limit: 1 })), END);
  });
}
