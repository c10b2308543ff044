import type { Storage } from '../../lib/contracts/index.ts';
import { pushedRequestStore } from '../../lib/features/pushed-requests/store.ts';
import { PUSHED_REQUEST_TABLE } from '../../lib/features/pushed-requests/tables.ts';
import type { PushedRequest, PushedRequestStore } from '../../lib/features/pushed-requests/types.ts';
import { aCode, aGrant, HOUR, LOOKALIKES, NOW } from '../storage/rows.ts';
import { onlyOneOf } from '../storage/store-tests.ts';
import type { StorageTest } from '../storage/store-tests.ts';

/** One that expires in a minute, by the clock of this process. */
export function aPushedRequest(fields: Partial<PushedRequest> = {}): PushedRequest {
  const now = Math.floor(Date.now() / 1000);
  return {
    id: 'request-1',
    parameters: {
      client_id: 'timetable',
      scope: 'a b',
      state: '',
      claims: '{"id_token":null}',
      ui_locales: 'ä 🎒',
    },
    expiresAt: now + 60,
    keptUntil: now + HOUR,
    ...fields,
  };
}

export const pushedRequestsOf = async (storage: Storage): Promise<PushedRequestStore> =>
  storage.store('pushedRequests', pushedRequestStore);

const { id } = aPushedRequest();

export function pushedRequestContract(test: StorageTest): void {
  test('pushed requests: find returns what insert has stored, measures its times, and compares exactly', async (t, storage) => {
    const pushedRequests = await pushedRequestsOf(storage);
    await pushedRequests.insert(aPushedRequest());
    const found = await pushedRequests.find(id);
    t.deepEqual(found?.parameters, aPushedRequest().parameters);
    t.true(found!.expiresIn > 50 && found!.expiresIn <= 60, `${found!.expiresIn}`);
    t.true(found!.keptFor > HOUR - 10 && found!.keptFor <= HOUR, `${found!.keptFor}`);
    await pushedRequests.insert(aPushedRequest({ id: 'Id', expiresAt: NOW }));
    t.true((await pushedRequests.find('Id'))!.expiresIn < 0);
    for (const other of LOOKALIKES) t.is(await pushedRequests.find(other), undefined, other);
    await t.throwsAsync(pushedRequests.insert(aPushedRequest()), { code: 'ERR_STORAGE' });
  });

  test('pushed requests: of many grants that spend one, one is stored', async (t, storage) => {
    const pushedRequests = await pushedRequestsOf(storage);
    for (let round = 0; round < 10; round += 1) {
      const request = aPushedRequest({ id: `request ${round}` });
      await pushedRequests.insert(request);
      const nameOf = (index: number): string => `${round} ${index}`;
      const first = await onlyOneOf(t, 6, async (index) => {
        const grantId = nameOf(index);
        const spends = { table: PUSHED_REQUEST_TABLE.name, id: request.id };
        return storage.grants.insert(aGrant({ id: grantId }), aCode({ id: grantId, grantId }), { spends });
      });
      for (let index = 0; index < 6; index += 1)
        t.is((await storage.grants.find(nameOf(index))) !== undefined, index === first);
      t.is(await pushedRequests.find(request.id), undefined);
    }
  });

  test('pushed requests: prune deletes one after keptUntil', async (t, storage) => {
    const pushedRequests = await pushedRequestsOf(storage);
    const request = aPushedRequest();
    await pushedRequests.insert(request);
    t.is(await storage.prune(request.keptUntil, 10), 0);
    t.is(await storage.prune(request.keptUntil + 1, 10), 1);
    t.is(await pushedRequests.find(id), undefined);
  });
}
