import type { Storage } from '../../lib/contracts/index.ts';
import { allowedGrantStore, FOREVER } from '../../lib/features/trusted-issuers/store.ts';
import type {
  AllowedGrant,
  AllowedGrantStore,
  UsedAssertion,
} from '../../lib/features/trusted-issuers/types.ts';
import { aClient, aGrant, HOUR, LOOKALIKES, NOW } from '../storage/rows.ts';
import { onlyOneOf } from '../storage/store-tests.ts';
import type { StorageTest } from '../storage/store-tests.ts';

export const allowedGrantsOf = async (storage: Storage): Promise<AllowedGrantStore> =>
  storage.store('allowedGrants', allowedGrantStore);

function anAllowedGrant(fields: Partial<AllowedGrant> = {}): AllowedGrant {
  return {
    id: 'Id',
    issuer: 'https://ä.example/🎒',
    userId: 'ann',
    clientId: 'timetable',
    grantId: 'grant-1',
    access: { '': ['a', 'b'], 'https://x.example': [] },
    createdAt: NOW,
    ...fields,
  };
}

/** One that was used now, by the clock of this process. */
export function aUse(fields: Partial<UsedAssertion> = {}): UsedAssertion {
  const usedAt = Math.floor(Date.now() / 1000);
  return {
    id: 'Id',
    digest: 'digest',
    grantId: 'grant-1',
    sequence: 7,
    usedAt,
    expiresAt: usedAt + HOUR,
    ...fields,
  };
}

/** What `begin()` stores of a grant with this id. */
export function beginning(
  grantId: string,
  {
    over,
    sequence = 0,
    clientSequence = sequence,
    useId = `use of ${grantId}`,
  }: { over?: string; sequence?: number; clientSequence?: number; useId?: string } = {},
): Parameters<AllowedGrantStore['begin']> {
  return [
    anAllowedGrant({ grantId }),
    {
      grant: aGrant({ id: grantId, sequence, expiresAt: FOREVER }),
      use: aUse({ id: useId, grantId, sequence: clientSequence }),
      over,
    },
  ];
}

export function allowedGrantContract(test: StorageTest): void {
  test('allowed grants: of many that begin one, one does, with its grant and its use', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const first = await onlyOneOf(t, ids.length, async (index) => store.begin(...beginning(ids[index]!)));
    const grantId = ids[first]!;
    t.deepEqual(await store.find('Id'), {
      ...anAllowedGrant({ grantId }),
      state: 'live',
      lastUsedAt: undefined,
    });
    for (const id of ids) {
      t.is((await storage.grants.find(id)) !== undefined, id === grantId, id);
      t.is((await store.findUse(`use of ${id}`)) !== undefined, id === grantId, id);
    }
    for (const other of LOOKALIKES.filter((id) => id !== 'Id')) t.is(await store.find(other), undefined);
    t.deepEqual(await store.list('ann'), [(await store.find('Id'))!]);
    for (const user of ['Ann', 'nobody', '\0']) t.deepEqual(await store.list(user), []);
  });

  test('allowed grants: an assertion that was used begins nothing', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    t.true(await store.use(aUse({ id: 'used' })));
    t.false(await store.begin(...beginning('a', { useId: 'used' })));
    t.is(await store.find('Id'), undefined);
    t.is(await storage.grants.find('a'), undefined);
    t.true(await store.begin(...beginning('b')));
  });

  test('allowed grants: an end of the user, the client or all is followed by one that begins anew', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    let last = 'first';
    t.true(await store.begin(...beginning(last)));
    for (const party of [{ userId: 'ann' }, { clientId: 'timetable' }, { all: true }] as const) {
      const before = await storage.revocations.latestSequence();
      await storage.revocations.revokeAllOf(party);
      t.is((await store.find('Id'))!.state, 'over');
      const sequence = await storage.revocations.latestSequence();
      const late = 'userId' in party ? { sequence: before } : { sequence, clientSequence: before };
      t.false(await store.begin(...beginning('from before', { over: last, ...late })));
      const ids = Array.from({ length: 4 }, (_, index) => `${last} ${index}`);
      const first = await onlyOneOf(t, ids.length, async (index) =>
        store.begin(...beginning(ids[index]!, { over: last, sequence })),
      );
      // Nothing leads to the former one any more.
      await storage.prune(Math.floor(Date.now() / 1000) + 10, 1000);
      t.is(await storage.grants.find(last), undefined);
      last = ids[first]!;
      const { grantId, state } = (await store.find('Id'))!;
      t.deepEqual({ grantId, state }, { grantId: last, state: 'live' });
    }
  });

  test('allowed grants: one that was ended is never pruned, and stays so until it is forgotten', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    t.true(await store.begin(...beginning('a')));
    t.false(await store.forget('ann', 'timetable'), 'it is live');
    await storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW);
    while ((await storage.prune(NOW + 1000 * 365 * 24 * HOUR, 100)) > 0);
    t.is((await store.find('Id'))!.state, 'ended');
    await storage.revocations.revokeAllOf({ userId: 'ann' });
    t.is((await store.find('Id'))!.state, 'ended');
    for (const [userId, clientId] of [
      ['bob', 'timetable'],
      ['ann', 'other'],
      ['\0', 'timetable'],
    ] as const)
      t.false(await store.forget(userId, clientId));
    await onlyOneOf(t, 4, async () => store.forget('ann', 'timetable'));
    t.is(await store.find('Id'), undefined);
    while ((await storage.prune(Math.floor(Date.now() / 1000) + 10, 100)) > 0);
    t.is(await storage.grants.find('a'), undefined);
  });

  test('allowed grants: one that has made room for others was ended by nobody', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    t.true(await store.begin(...beginning('a')));
    await storage.grants.endUnused({ userId: 'ann', clientId: 'timetable', kept: 'other' }, 1, NOW);
    t.is((await storage.grants.find('a'))!.revokedAt, NOW);
    t.is((await store.find('Id'))!.state, 'over');
    while ((await storage.prune(NOW + 10, 100)) > 0);
    t.is(await storage.grants.find('a'), undefined);
    t.is((await store.find('Id'))!.state, 'over');
    t.true(await store.begin(...beginning('b', { over: 'a' })));
  });

  test('allowed grants: widen replaces the scopes that are still there', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    t.true(await store.begin(...beginning('a')));
    const { access } = anAllowedGrant();
    const results = ['c', 'd', 'e'].map(async (scope) => store.widen('Id', access, { '': ['a', scope] }));
    t.is((await Promise.all(results)).filter(Boolean).length, 1);
    t.true(['c', 'd', 'e'].includes((await store.find('Id'))!.access['']![1]!));
  });

  test('allowed grants: they are deleted with their client', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    await storage.clients.insert(aClient({ id: 'timetable' }), []);
    t.true(await store.begin(...beginning('a')));
    t.true(await storage.clients.delete('timetable'));
    t.is(await store.find('Id'), undefined);
  });

  test('used assertions: of many uses of one, one is stored; it says for how long it was used, and expires', async (t, storage) => {
    const store = await allowedGrantsOf(storage);
    const index = await onlyOneOf(t, 6, async (number) => store.use(aUse({ digest: String(number) })));
    const { usedFor, ...use } = (await store.findUse('Id'))!;
    t.deepEqual(use, { digest: String(index), grantId: 'grant-1', sequence: 7 });
    t.true(usedFor >= 0 && usedFor < 10, String(usedFor));
    t.true(await store.use(aUse({ id: 'of a client', grantId: undefined, usedAt: aUse().usedAt - 100 })));
    const ofClient = (await store.findUse('of a client'))!;
    t.is(ofClient.grantId, undefined);
    t.true(ofClient.usedFor >= 100 && ofClient.usedFor < 110, String(ofClient.usedFor));
    const { expiresAt } = aUse();
    t.is(await storage.prune(expiresAt - 10, 10), 0);
    t.is(await storage.prune(expiresAt + 10, 10), 2);
    t.is(await store.findUse('Id'), undefined);
  });
}
