import { HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

export function assertionContract(test: StorageTest): void {
  test('assertions: spend returns true once for each id, also with another expiry', async (t, {
    assertions,
  }) => {
    t.true(await assertions.spend('a', NOW + HOUR));
    t.false(await assertions.spend('a', NOW + HOUR));
    t.false(await assertions.spend('a', NOW + 2 * HOUR));
    t.true(await assertions.spend('b', NOW + HOUR));
  });

  test('assertions: of a hundred calls of spend at once, exactly one returns true', async (t, {
    assertions,
  }) => {
    const spent = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => assertions.spend('a', NOW + index)),
    );
    t.is(spent.filter(Boolean).length, 1);
  });

  test('assertions: an id is spent until prune deletes it after its expiry', async (t, storage) => {
    const { assertions } = storage;
    await assertions.spend('past', NOW - 1);
    await assertions.spend('now', NOW);
    t.false(await assertions.spend('past', NOW + HOUR));
    t.is(await storage.prune(NOW, 100), 1);
    t.true(await assertions.spend('past', NOW + HOUR));
    t.false(await assertions.spend('now', NOW + HOUR));
  });

  test('assertions: ids are compared exactly', async (t, { assertions }) => {
    t.true(await assertions.spend('Id', NOW + HOUR));
    for (const id of LOOKALIKES) t.true(await assertions.spend(id, NOW + HOUR), id);
  });
}
