import { DAY } from '../../lib/contracts/duration.ts';
import type { PassportUse } from '../../lib/contracts/index.ts';
import { PASSPORT_USE_KEPT } from '../../lib/contracts/passport.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';
import { NOW } from './rows.ts';

const aUse = (id: string, fields: Partial<PassportUse> = {}): PassportUse => ({
  id,
  clientId: 'timetable',
  kind: 'user',
  at: NOW,
  ...fields,
});

export function passportUseContract(register: StorageTest): void {
  const test = testsOf(register, 'passportUses');

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
}
