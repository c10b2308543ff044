import type { Client, StoredRegistration } from '../../contracts/index.ts';
import { aClient, aCode, aConsent, aGrant, aSecret, HOUR, NOW } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

const DAY = 24 * HOUR;

function aRegistered(
  id: string,
  fields: Partial<StoredRegistration> = {},
): { client: Client; secrets: []; registration: StoredRegistration } {
  return {
    client: aClient({ id, registration: 'dynamic' }),
    secrets: [],
    registration: {
      clientId: id,
      tokenHash: `hash of ${id}`,
      authMethod: 'none',
      removableAt: NOW + DAY,
      unusedAfter: 90 * DAY,
      ...fields,
    },
  };
}

export function registrationContract(test: StorageTest): void {
  test('registrations: insert stores the client, its secrets and its registration', async (t, {
    clients,
    registrations,
  }) => {
    const { client, registration } = aRegistered('a', { authMethod: 'client_secret_post' });
    t.true(await registrations.insert({ client, secrets: [aSecret()], registration }, 1));
    t.deepEqual(await clients.find('a'), { client, secrets: [aSecret()], sequence: 0 });
    t.deepEqual(await registrations.find('a'), registration);
    for (const id of ['', 'A', 'b', 'a\0', 'x'.repeat(1000)]) t.is(await registrations.find(id), undefined);
  });

  test('registrations: insert stores nothing when the limit is reached, until a client is deleted', async (t, {
    clients,
    registrations,
  }) => {
    await clients.insert(aClient(), []);
    t.true(await registrations.insert(aRegistered('a'), 2));
    t.true(await registrations.insert(aRegistered('b'), 2));
    t.false(await registrations.insert(aRegistered('c'), 2));
    t.is(await clients.find('c'), undefined);
    t.is(await registrations.find('c'), undefined);
    t.true(await clients.delete('a'));
    t.is(await registrations.find('a'), undefined);
    t.true(await registrations.insert(aRegistered('c'), 2));
  });

  test('registrations: of twenty calls of insert at once, no more than the limit are stored', async (t, {
    clients,
    registrations,
  }) => {
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    const stored = await Promise.all(ids.map(async (id) => registrations.insert(aRegistered(id), 7)));
    t.is(stored.filter(Boolean).length, 7);
    t.is((await clients.list({ limit: 100 })).length, 7);
  });

  test('registrations: a client that no user has authorized is removed at its time', async (t, {
    clients,
    registrations,
  }) => {
    const { client, registration } = aRegistered('a');
    await registrations.insert({ client, secrets: [aSecret()], registration }, 9);
    t.deepEqual(await registrations.removeUnused(NOW + DAY, 10), { removed: [], seen: 0 });
    const { removed, seen } = await registrations.removeUnused(NOW + DAY + 1, 10);
    t.deepEqual({ removed, seen }, { removed: [{ id: 'a', name: client.name }], seen: 1 });
    t.is(await clients.find('a'), undefined);
    t.is(await registrations.find('a'), undefined);
    t.deepEqual(await registrations.removeUnused(NOW + DAY + 1, 10), { removed: [], seen: 0 });
  });

  test('registrations: removeUnused looks at no more than the limit', async (t, { registrations }) => {
    for (const id of ['a', 'b', 'c']) await registrations.insert(aRegistered(id), 9);
    t.is((await registrations.removeUnused(NOW + 2 * DAY, 2)).seen, 2);
    t.is((await registrations.removeUnused(NOW + 2 * DAY, 2)).seen, 1);
  });

  test('registrations: a consent keeps the client for its unusedAfter', async (t, {
    clients,
    consents,
    registrations,
  }) => {
    await registrations.insert(aRegistered('a'), 9);
    t.true(await consents.add(aConsent({ clientId: 'a', updatedAt: NOW + 9 }), { registration: true }));
    t.is((await registrations.find('a'))?.removableAt, NOW + 9 + 90 * DAY);
    // An earlier one does not move it back.
    t.true(
      await consents.add(aConsent({ clientId: 'a', userId: 'bob', updatedAt: NOW }), { registration: true }),
    );
    t.is((await registrations.find('a'))?.removableAt, NOW + 9 + 90 * DAY);
    t.deepEqual((await registrations.removeUnused(NOW + 90 * DAY, 10)).removed, []);

    await consents.touch('ann', 'a', NOW + 50 * DAY);
    t.deepEqual(await registrations.removeUnused(NOW + 100 * DAY, 10), { removed: [], seen: 1 });
    t.is((await registrations.find('a'))?.removableAt, NOW + 190 * DAY);
    t.is((await registrations.removeUnused(NOW + 190 * DAY + 1, 10)).removed.length, 1);
    t.is(await clients.find('a'), undefined);
    t.deepEqual(await consents.list('ann'), []);
  });

  test('registrations: a client with a grant that is valid or was revoked a short time ago is kept', async (t, storage) => {
    const { credentials, grants, registrations } = storage;
    const at = NOW + 200 * DAY;
    const old = { createdAt: NOW };
    for (const [id, expiresAt] of Object.entries({ valid: at + DAY, revoked: at + DAY, expired: at - 1 })) {
      await registrations.insert(aRegistered(id), 9);
      await credentials.start(
        aGrant({ ...old, id, clientId: id, expiresAt }),
        aCode({ id, grantId: id, expiresAt }),
      );
    }
    await grants.revoke({ id: 'revoked' }, at - 80 * DAY);
    t.deepEqual(await registrations.removeUnused(at, 10), {
      removed: [{ id: 'expired', name: aClient().name }],
      seen: 3,
    });
    t.is(await grants.find('expired'), undefined);
    t.is(await credentials.find('code', 'expired'), undefined);
    t.is((await registrations.find('valid'))?.removableAt, at + 90 * DAY);
    t.is((await registrations.removeUnused(at + 91 * DAY, 10)).removed.length, 2);
  });

  test('registrations: a disabled client is kept', async (t, { clients, registrations }) => {
    await registrations.insert(aRegistered('a'), 9);
    await clients.update(aClient({ id: 'a', registration: 'dynamic', disabled: true }));
    t.deepEqual(await registrations.removeUnused(NOW + 2 * DAY, 10), { removed: [], seen: 1 });
    t.true((await clients.find('a'))?.client.disabled);
  });

  test('registrations: removeUnused deletes 450 consents with the client', async (t, {
    consents,
    registrations,
  }) => {
    await registrations.insert(aRegistered('a'), 9);
    const users = Array.from({ length: 450 }, (_, index) => `${index}`);
    await Promise.all(users.map(async (userId) => consents.add(aConsent({ clientId: 'a', userId }))));
    const removed: unknown[] = [];
    for (let calls = 0; calls < 9; calls += 1)
      removed.push(...(await registrations.removeUnused(NOW + 100 * DAY, 10)).removed);
    t.is(removed.length, 1);
    const left = await Promise.all(users.map(async (userId) => consents.find(userId, 'a')));
    t.deepEqual(new Set(left), new Set([undefined]));
  });

  test('registrations: a consent that depends on a registration is not stored without it', async (t, {
    clients,
    consents,
    registrations,
  }) => {
    await clients.insert(aClient({ id: 'a' }), []);
    t.false(await consents.add(aConsent({ clientId: 'a' }), { registration: true }));
    t.is(await consents.find('ann', 'a'), undefined);
    t.true(await consents.add(aConsent({ clientId: 'a' }), { registration: false }));
    t.false(await consents.add(aConsent({ clientId: '' }), { registration: true }));
    await registrations.insert(aRegistered('b'), 9);
    await clients.delete('b');
    t.false(await consents.add(aConsent({ clientId: 'b' }), { registration: true }));
  });

  test('registrations: a grant on an old consent beside a removal is stored with its client, or not at all', async (t, storage) => {
    const { clients, consents, credentials, grants, registrations } = storage;
    const now = NOW + 100 * DAY;
    for (let round = 0; round < 12; round += 1) {
      const id = `${round}`;
      await registrations.insert(aRegistered(id), 99);
      const consent = aConsent({ clientId: id });
      await consents.add(consent);
      const grant = aGrant({ id, clientId: id, createdAt: now, expiresAt: now + 60 });
      const [isStarted] = await Promise.all([
        credentials.start(grant, aCode({ id, grantId: id, expiresAt: now + 60 }), { consent }),
        registrations.removeUnused(now, 10),
      ]);
      t.is((await clients.find(id)) !== undefined, isStarted, id);
      t.is((await consents.find('ann', id)) !== undefined, isStarted, id);
      t.is((await grants.find(id)) !== undefined, isStarted, id);
    }
  });

  test('registrations: a consent beside a removal or a deletion is stored with its client, or not at all', async (t, storage) => {
    const { clients, consents, registrations } = storage;
    for (let round = 0; round < 12; round += 1) {
      const id = `${round}`;
      await registrations.insert(aRegistered(id), 99);
      const consent = aConsent({ clientId: id, updatedAt: NOW + 2 * DAY });
      const [isStored] = await Promise.all([
        consents.add(consent, { registration: true }),
        round % 3 === 0 ? clients.delete(id) : registrations.removeUnused(NOW + 2 * DAY, 10),
      ]);
      const isKept = (await clients.find(id)) !== undefined;
      if (round % 3 !== 0) t.is(isKept, isStored, id);
      t.is((await consents.find('ann', id)) !== undefined, isKept, id);
    }
  });
}
