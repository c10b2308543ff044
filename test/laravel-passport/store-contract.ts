import { DAY } from '../../lib/contracts/duration.ts';
import type { Storage } from '../../lib/contracts/index.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import { NOW } from '../storage/rows.ts';
import { atOnce } from '../storage/store-tests.ts';
import type { StorageTest } from '../storage/store-tests.ts';
import { passportStore } from '../../lib/features/laravel-passport/store.ts';
import { PASSPORT_USE_KEPT } from '../../lib/features/laravel-passport/types.ts';
import type { PassportStore, PassportUse } from '../../lib/features/laravel-passport/types.ts';

const aUse = (id: string, fields: Partial<PassportUse> = {}): PassportUse => ({
  id,
  clientId: 'timetable',
  kind: 'user',
  at: NOW,
  ...fields,
});

export const passportOf = async (storage: Storage): Promise<PassportStore> =>
  storage.store('passport', passportStore);

export function passportContract(register: StorageTest): void {
  const test = (
    title: string,
    run: (t: Assertions, uses: PassportStore, storage: Storage) => Promise<void>,
  ): void => register(title, async (t, storage) => run(t, await passportOf(storage), storage));

  test('passport uses: each token is counted once, by client and kind, by its latest use', async (t, uses) => {
    await uses.record([
      aUse('today'),
      aUse('yesterday', { at: NOW - DAY }),
      aUse('personal', { kind: 'personal', at: NOW - 6 * DAY }),
      aUse('of another', { clientId: 'reports' }),
      aUse('long ago', { at: NOW - 7 * DAY }),
    ]);
    await uses.record([aUse('today', { at: NOW - 2 * DAY }), aUse('yesterday')]);
    await uses.record([]);
    const counts = (await uses.count(NOW)).toSorted((a, b) =>
      a.clientId + a.kind < b.clientId + b.kind ? -1 : 1,
    );
    t.deepEqual(counts, [
      { clientId: 'reports', kind: 'user', lastDay: 1, lastWeek: 1 },
      { clientId: 'timetable', kind: 'personal', lastDay: 0, lastWeek: 1 },
      { clientId: 'timetable', kind: 'user', lastDay: 2, lastWeek: 2 },
    ]);
    t.deepEqual(await uses.count(NOW + PASSPORT_USE_KEPT), []);
  });

  test('passport uses: twenty nodes record the same tokens at once', async (t, uses) => {
    const ids = Array.from({ length: 20 }, (_, index) => `token ${index}`);
    await atOnce(20, async (index) => {
      const order = index % 2 === 0 ? ids : ids.toReversed();
      await uses.record(order.map((id) => aUse(id)));
    });
    t.deepEqual(await uses.count(NOW), [{ clientId: 'timetable', kind: 'user', lastDay: 20, lastWeek: 20 }]);
  });

  test('passport uses: pruned a week after the latest use', async (t, uses, storage) => {
    await uses.record([aUse('first'), aUse('later', { at: NOW + 1 })]);
    t.is(await storage.prune(NOW + PASSPORT_USE_KEPT + 1, 100), 1);
    t.deepEqual(await uses.count(NOW), [{ clientId: 'timetable', kind: 'user', lastDay: 1, lastWeek: 1 }]);
  });

  test('passport: a disconnection is known until Passport was told of it', async (t, store, {
    ends,
    grants,
  }) => {
    const of = { userId: 'ann', clientId: 'timetable' };
    await grants.revoke(of, NOW);
    t.false(await isEnded(store), 'nobody reads it');
    await ends.read('passport', ['connection'], Math.ceil(Date.now() / 1000) + 60);
    await grants.revoke(of, NOW);
    t.true(await isEnded(store));
    t.false(await isEnded(store, { clientId: 'reports' }));
    const at = Math.ceil(Date.now() / 1000);
    const taken = await ends.take('passport', { now: at, leasedUntil: at + 60, limit: 10 });
    t.is(taken.length, 1);
    t.true(await isEnded(store), 'taken, not told');
    await store.mark('mark', at + 60);
    await store.mark('mark', at + 30);
    await ends.done(taken);
    t.true(await isEnded(store, { mark: 'mark' }));
    t.false(await isEnded(store, { mark: 'other' }));
    t.true(await store.isMarked('mark'));
    t.false(await isEnded(store));
  });

  test('passport: what a user has begun before an end has ended', async (t, store, { revocations }) => {
    await revocations.revokeAllOf({ userId: 'ann' });
    const sequence = await revocations.latestSequence();
    t.true(await isEnded(store));
    t.true(await isEnded(store, { sequence: sequence - 1 }));
    t.false(await isEnded(store, { sequence }));
    t.false(await isEnded(store, { userId: 'bob' }));
  });
}

const isEnded = async (
  store: PassportStore,
  of: Partial<Parameters<PassportStore['hasEnded']>[0]> = {},
): Promise<boolean> =>
  store.hasEnded({ userId: 'ann', clientId: 'timetable', sequence: 0, mark: undefined, ...of });
