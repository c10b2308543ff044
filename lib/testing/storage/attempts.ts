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
