import { DAY } from '../../lib/contracts/duration.ts';
import type { Client, Storage } from '../../lib/contracts/index.ts';
import { aClient, aCode, aConsent, aGrant, aSecret, NOW } from '../storage/rows.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from '../storage/store-tests.ts';
import { registrationStore } from '../../lib/features/agents/store.ts';
import type {
  RegistrationPlaces,
  RegistrationStore,
  StoredRegistration,
} from '../../lib/features/agents/types.ts';

export const registrationsOf = async (storage: Storage): Promise<RegistrationStore> =>
  storage.store('registrations', registrationStore);

export function aRegistered(
  id: string,
  fields: Partial<StoredRegistration> = {},
): { client: Client; secrets: []; registration: StoredRegistration } {
  return {
    client: aClient({ id, source: 'dynamic' }),
    secrets: [],
    registration: {
      clientId: id,
      tokenHash: `hash of ${id}`,
      authMethod: 'none',
      removableAt: NOW + DAY,
      unusedAfter: 90 * DAY,
      network: 'n',
      ...fields,
    },
  };
}

function places(limit: number): RegistrationPlaces {
  return { limit, perUser: 2, unusedSince: NOW - 30 * DAY, now: NOW };
}

/** The ids of the clients that gave way to a further one; `undefined`: none did. */
async function displacedBy(
  registrations: RegistrationStore,
  id: string,
  limit: number,
): Promise<readonly string[] | undefined> {
  return (await registrations.insert(aRegistered(id), places(limit)))?.map((client) => client.id);
}

export function registrationContract(register: StorageTest): void {
  const test = (
    title: string,
    run: (t: Assertions, registrations: RegistrationStore, storage: Storage) => Promise<void>,
  ): void => register(title, async (t, storage) => run(t, await registrationsOf(storage), storage));

  test('registrations: a consent of a user who was ended since the login is not stored', async (t, registrations, {
    consents,
    revocations,
  }) => {
    await registrations.insert(aRegistered('a'), places(5));
    const sequence = await revocations.latestSequence();
    await revocations.revokeAllOf({ userId: 'ann' });
    t.false(await registrations.addConsent(aConsent({ clientId: 'a' }), sequence));
    t.deepEqual(await consents.list('ann'), []);
    const consent = aConsent({ clientId: 'a' });
    t.true(await registrations.addConsent(consent, await revocations.latestSequence()));
    t.is((await consents.list('ann')).length, 1);
  });

  test('registrations: insert stores the client, its secrets and its registration', async (t, registrations, storage) => {
    const { client, registration } = aRegistered('a', { authMethod: 'client_secret_post' });
    t.deepEqual(await registrations.insert({ client, secrets: [aSecret()], registration }, places(1)), []);
    t.deepEqual(await storage.clients.find('a'), { client, secrets: [aSecret()], sequence: 0 });
    t.deepEqual(await registrations.find('a'), registration);
    for (const id of ['', 'A', 'b', 'a\0', 'x'.repeat(1000)]) t.is(await registrations.find(id), undefined);
  });

  test('registrations: removeToken empties the token hash of one registration', async (t, registrations) => {
    for (const id of ['a', 'b']) await registrations.insert(aRegistered(id), places(2));
    for (const id of ['a', 'a', 'c', 'a\0']) await registrations.removeToken(id);
    t.is((await registrations.find('a'))?.tokenHash, '');
    t.is((await registrations.find('b'))?.tokenHash, 'hash of b');
  });

  test('registrations: insert stores nothing when no place is left, until a client is deleted', async (t, registrations, storage) => {
    await storage.clients.insert(aClient(), []);
    for (const clientId of ['a', 'b']) {
      t.deepEqual(await registrations.insert(aRegistered(clientId), places(2)), []);
      for (const userId of ['ann', 'bob'])
        await registrations.addConsent(aConsent({ clientId, userId, updatedAt: NOW - 60 * DAY }));
    }
    t.is(await displacedBy(registrations, 'c', 2), undefined);
    t.is(await storage.clients.find('c'), undefined);
    t.is(await registrations.find('c'), undefined);
    t.true(await storage.clients.delete('a'));
    t.is(await registrations.find('a'), undefined);
    t.deepEqual(await displacedBy(registrations, 'c', 2), []);
  });

  test('registrations: the oldest of the network that has the most unauthorized clients gives way', async (t, registrations, storage) => {
    const { clients } = storage;
    const ids = { alone: 'y', old: 'x', older: 'x', new: 'x', other: 'z' };
    const ages = { alone: 9, old: 5, older: 6, new: 1, other: 8 };
    for (const [id, network] of Object.entries(ids)) {
      const removableAt = NOW + DAY - ages[id as keyof typeof ages];
      const { client, registration } = aRegistered(id, { network, removableAt });
      t.deepEqual(await registrations.insert({ client, secrets: [aSecret()], registration }, places(5)), []);
    }
    const { client, registration } = aRegistered('next', { network: 'y', removableAt: NOW + DAY });
    const { id, name } = aRegistered('older').client;
    t.deepEqual(await registrations.insert({ client, secrets: [], registration }, places(5)), [{ id, name }]);
    t.is(await clients.find('older'), undefined);
    t.is(await registrations.find('older'), undefined);
    t.is((await clients.find('next'))?.client.id, 'next');
    // Two networks have two each now; of the clients of both, the oldest.
    t.deepEqual(await displacedBy(registrations, 'later', 5), ['alone']);
    t.deepEqual(await displacedBy(registrations, 'last', 5), ['old']);
    t.is((await clients.list({ limit: 100 })).length, 5);
  });

  test('registrations: a disabled client, one with a valid grant and one of two users give way to none', async (t, registrations, storage) => {
    for (const id of ['disabled', 'granted', 'shared', 'ann'])
      await registrations.insert(aRegistered(id), places(4));
    await storage.clients.update(aClient({ id: 'disabled', source: 'dynamic', disabled: true }));
    const expiresAt = NOW + DAY;
    await storage.grants.insert(
      aGrant({ id: 'granted', clientId: 'granted', expiresAt }),
      aCode({ id: 'granted', grantId: 'granted', expiresAt }),
    );
    for (const userId of ['ann', 'bob', 'ann'])
      await registrations.addConsent(aConsent({ clientId: 'shared', userId, updatedAt: 1 }));
    await registrations.addConsent(aConsent({ clientId: 'ann', updatedAt: NOW }));
    t.is(await displacedBy(registrations, 'next', 4), undefined);
    // Withdrawn, so that it is unused.
    await storage.consents.delete('ann', 'ann');
    t.deepEqual(await displacedBy(registrations, 'next', 4), ['ann']);
    t.deepEqual(await displacedBy(registrations, 'last', 4), ['next']);
  });

  test('registrations: of more clients than a user keeps alone, the longest unused one gives way with its grants', async (t, registrations, storage) => {
    const { clients, consents, grants } = storage;
    const users = { a: 'ann', b: 'ann', c: 'ann', d: 'bob', e: 'bob' };
    for (const [id, userId] of Object.entries(users)) {
      await registrations.insert(aRegistered(id), places(5));
      const consent = aConsent({ clientId: id, userId, updatedAt: NOW - DAY });
      await registrations.addConsent(consent);
      const grant = aGrant({ id, clientId: id, userId, expiresAt: NOW + DAY });
      await grants.insert(grant, aCode({ id, grantId: id, expiresAt: NOW + DAY }), { consent });
      await consents.touch(userId, id, NOW - (id === 'b' ? 900 : 300));
    }
    await consents.touch('bob', 'd', NOW - 1000);
    t.deepEqual(await displacedBy(registrations, 'next', 5), ['b']);
    t.is(await clients.find('b'), undefined);
    t.is(await consents.find('ann', 'b'), undefined);
    t.is(await grants.find('b'), undefined);
    t.is(await grants.findCredential('code', 'b'), undefined);
    await registrations.addConsent(aConsent({ clientId: 'next', userId: 'cy', updatedAt: NOW }));
    // Nobody has more than two now.
    t.is(await displacedBy(registrations, 'last', 5), undefined);
    t.is((await grants.find('a'))?.id, 'a');
  });

  test('registrations: of clients of one user each, one that is unused for long gives way', async (t, registrations, storage) => {
    for (const [id, age] of Object.entries({ a: 31, b: 40, c: 29 })) {
      await registrations.insert(aRegistered(id), places(3));
      const consent = aConsent({ clientId: id, userId: `user of ${id}`, updatedAt: NOW - age * DAY });
      await registrations.addConsent(consent);
    }
    await storage.consents.touch('user of b', 'b', NOW);
    t.deepEqual(await displacedBy(registrations, 'd', 3), ['a']);
    await registrations.addConsent(aConsent({ clientId: 'd', userId: 'dan', updatedAt: NOW }));
    t.is(await displacedBy(registrations, 'e', 3), undefined);
  });

  test('registrations: of twenty calls of insert at once, no more than the limit are kept', async (t, registrations, storage) => {
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    const displaced = await Promise.all(ids.map(async (id) => displacedBy(registrations, id, 7)));
    t.is(displaced.flat().length, 13);
    t.is(new Set(displaced.flat()).size, 13);
    t.is((await storage.clients.list({ limit: 100 })).length, 7);
  });

  test('registrations: a consent beside a displacement is stored with its client, or not at all', async (t, registrations, storage) => {
    for (let round = 0; round < 20; round += 1) {
      const [id, next] = [`${round}`, `next ${round}`];
      await registrations.insert(aRegistered(id), places(1));
      const consent = aConsent({ clientId: id, updatedAt: NOW });
      const [isStored, displaced] = await Promise.all([
        registrations.addConsent(consent),
        displacedBy(registrations, next, 1),
      ]);
      t.deepEqual(displaced, isStored ? undefined : [id], id);
      t.is((await storage.clients.find(id)) !== undefined, isStored, id);
      t.is((await storage.consents.find('ann', id)) !== undefined, isStored, id);
      await storage.clients.delete(isStored ? id : next);
    }
  });

  test('registrations: a client that no user has authorized is removed at its time', async (t, registrations, storage) => {
    const { client, registration } = aRegistered('a');
    await registrations.insert({ client, secrets: [aSecret()], registration }, places(9));
    t.deepEqual(await registrations.deleteUnused(NOW + DAY, 10), { deleted: [], seen: 0 });
    const { deleted, seen } = await registrations.deleteUnused(NOW + DAY + 1, 10);
    t.deepEqual({ deleted, seen }, { deleted: [{ id: 'a', name: client.name }], seen: 1 });
    t.is(await storage.clients.find('a'), undefined);
    t.is(await registrations.find('a'), undefined);
    t.deepEqual(await registrations.deleteUnused(NOW + DAY + 1, 10), { deleted: [], seen: 0 });
  });

  test('registrations: deleteUnused looks at no more than the limit', async (t, registrations) => {
    for (const id of ['a', 'b', 'c']) await registrations.insert(aRegistered(id), places(9));
    t.is((await registrations.deleteUnused(NOW + 2 * DAY, 2)).seen, 2);
    t.is((await registrations.deleteUnused(NOW + 2 * DAY, 2)).seen, 1);
  });

  test('registrations: a consent keeps the client for its unusedAfter', async (t, registrations, storage) => {
    await registrations.insert(aRegistered('a'), places(9));
    t.true(await registrations.addConsent(aConsent({ clientId: 'a', updatedAt: NOW + 9 })));
    t.is((await registrations.find('a'))?.removableAt, NOW + 9 + 90 * DAY);
    // An earlier one does not move it back.
    t.true(await registrations.addConsent(aConsent({ clientId: 'a', userId: 'bob', updatedAt: NOW })));
    t.is((await registrations.find('a'))?.removableAt, NOW + 9 + 90 * DAY);
    t.deepEqual((await registrations.deleteUnused(NOW + 90 * DAY, 10)).deleted, []);

    await storage.consents.touch('ann', 'a', NOW + 50 * DAY);
    t.deepEqual(await registrations.deleteUnused(NOW + 100 * DAY, 10), { deleted: [], seen: 1 });
    t.is((await registrations.find('a'))?.removableAt, NOW + 190 * DAY);
    t.is((await registrations.deleteUnused(NOW + 190 * DAY + 1, 10)).deleted.length, 1);
    t.is(await storage.clients.find('a'), undefined);
    t.deepEqual(await storage.consents.list('ann'), []);
  });

  test('registrations: a client with a grant that is valid or was revoked a short time ago is kept', async (t, registrations, storage) => {
    const { grants } = storage;
    const at = NOW + 200 * DAY;
    const old = { createdAt: NOW };
    for (const [id, expiresAt] of Object.entries({ valid: at + DAY, revoked: at + DAY, expired: at - 1 })) {
      await registrations.insert(aRegistered(id), places(9));
      await grants.insert(
        aGrant({ ...old, id, clientId: id, expiresAt }),
        aCode({ id, grantId: id, expiresAt }),
      );
    }
    await grants.revoke({ id: 'revoked' }, at - 80 * DAY);
    t.deepEqual(await registrations.deleteUnused(at, 10), {
      deleted: [{ id: 'expired', name: aClient().name }],
      seen: 3,
    });
    t.is(await grants.find('expired'), undefined);
    t.is(await grants.findCredential('code', 'expired'), undefined);
    t.is((await registrations.find('valid'))?.removableAt, at + 90 * DAY);
    t.is((await registrations.deleteUnused(at + 91 * DAY, 10)).deleted.length, 2);
  });

  test('registrations: a disabled client is kept', async (t, registrations, storage) => {
    await registrations.insert(aRegistered('a'), places(9));
    await storage.clients.update(aClient({ id: 'a', source: 'dynamic', disabled: true }));
    t.deepEqual(await registrations.deleteUnused(NOW + 2 * DAY, 10), { deleted: [], seen: 1 });
    t.true((await storage.clients.find('a'))?.client.disabled);
  });

  test('registrations: deleteUnused deletes 450 consents with the client', async (t, registrations, storage) => {
    await registrations.insert(aRegistered('a'), places(9));
    const users = Array.from({ length: 450 }, (_, index) => `${index}`);
    await Promise.all(users.map(async (userId) => storage.consents.add(aConsent({ clientId: 'a', userId }))));
    const deleted: unknown[] = [];
    for (let calls = 0; calls < 9; calls += 1)
      deleted.push(...(await registrations.deleteUnused(NOW + 100 * DAY, 10)).deleted);
    t.is(deleted.length, 1);
    const left = await Promise.all(users.map(async (userId) => storage.consents.find(userId, 'a')));
    t.deepEqual(new Set(left), new Set([undefined]));
  });

  test('registrations: a consent that depends on a registration is not stored without it', async (t, registrations, storage) => {
    await storage.clients.insert(aClient({ id: 'a' }), []);
    t.false(await registrations.addConsent(aConsent({ clientId: 'a' })));
    t.is(await storage.consents.find('ann', 'a'), undefined);
    await storage.consents.add(aConsent({ clientId: 'a' }));
    t.deepEqual(await storage.consents.find('ann', 'a'), aConsent({ clientId: 'a' }));
    t.false(await registrations.addConsent(aConsent({ clientId: '' })));
    await registrations.insert(aRegistered('b'), places(9));
    await storage.clients.delete('b');
    t.false(await registrations.addConsent(aConsent({ clientId: 'b' })));
  });

  test('registrations: a grant on an old consent beside a removal is stored with its client, or not at all', async (t, registrations, storage) => {
    const now = NOW + 100 * DAY;
    for (let round = 0; round < 12; round += 1) {
      const id = `${round}`;
      await registrations.insert(aRegistered(id), places(99));
      const consent = aConsent({ clientId: id });
      await storage.consents.add(consent);
      const grant = aGrant({ id, clientId: id, createdAt: now, expiresAt: now + 60 });
      const [isStarted] = await Promise.all([
        storage.grants.insert(grant, aCode({ id, grantId: id, expiresAt: now + 60 }), { consent }),
        registrations.deleteUnused(now, 10),
      ]);
      t.is((await storage.clients.find(id)) !== undefined, isStarted, id);
      t.is((await storage.consents.find('ann', id)) !== undefined, isStarted, id);
      t.is((await storage.grants.find(id)) !== undefined, isStarted, id);
    }
  });

  test('registrations: a consent beside a removal or a deletion is stored with its client, or not at all', async (t, registrations, storage) => {
    for (let round = 0; round < 12; round += 1) {
      const id = `${round}`;
      await registrations.insert(aRegistered(id), places(99));
      const consent = aConsent({ clientId: id, updatedAt: NOW + 2 * DAY });
      const [isStored] = await Promise.all([
        registrations.addConsent(consent),
        round % 3 === 0 ? storage.clients.delete(id) : registrations.deleteUnused(NOW + 2 * DAY, 10),
      ]);
      const isKept = (await storage.clients.find(id)) !== undefined;
      if (round % 3 !== 0) t.is(isKept, isStored, id);
      t.is((await storage.consents.find('ann', id)) !== undefined, isKept, id);
    }
  });
}
