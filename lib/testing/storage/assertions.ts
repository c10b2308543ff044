import { HOUR, LOOKALIKES, NOW } from './rows.ts';
import { onlyOneOf, testsOf } from '../test-runner.ts';
import type { StorageTest } from '../test-runner.ts';

export function assertionContract(register: StorageTest): void {
  const test = testsOf(register, 'clients');

  test('assertions: redeemAssertion returns true once for each id, also with another expiry', async (t, clients) => {
    t.true(await clients.redeemAssertion('a', NOW + HOUR));
    t.false(await clients.redeemAssertion('a', NOW + HOUR));
    t.false(await clients.redeemAssertion('a', NOW + 2 * HOUR));
    t.true(await clients.redeemAssertion('b', NOW + HOUR));
  });

  test('assertions: of a hundred calls of redeemAssertion at once, exactly one returns true', async (t, clients) => {
    await onlyOneOf(t, 100, async (index) => clients.redeemAssertion('a', NOW + index));
  });

  test('assertions: an id is used until prune deletes it after its expiry', async (t, clients, storage) => {
    await clients.redeemAssertion('past', NOW - 1);
    await clients.redeemAssertion('now', NOW);
    t.false(await clients.redeemAssertion('past', NOW + HOUR));
    t.is(await storage.prune(NOW, 100), 1);
    t.true(await clients.redeemAssertion('past', NOW + HOUR));
    t.false(await clients.redeemAssertion('now', NOW + HOUR));
  });

  test('assertions: ids are compared exactly', async (t, clients) => {
    t.true(await clients.redeemAssertion('Id', NOW + HOUR));
    for (const id of LOOKALIKES) t.true(await clients.redeemAssertion(id, NOW + HOUR), id);
  });
}
