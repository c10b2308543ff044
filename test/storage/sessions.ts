import { aCode, aConsent, aGrant, aSession, HOUR, LOOKALIKES, NOW } from './rows.ts';
import { testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function sessionContract(register: StorageTest): void {
  const test = testsOf(register, 'sessions');

  test('sessions: insert rejects an id that exists; find and delete take the id', async (t, sessions) => {
    await sessions.insert(aSession());
    t.deepEqual((await sessions.find(aSession().id))?.session, aSession());
    await t.throwsAsync(sessions.insert(aSession({ uid: 'uid-2' })), { code: 'ERR_STORAGE' });
    await sessions.delete(aSession().id);
    await sessions.delete(aSession().id);
    t.is(await sessions.find(aSession().id), undefined);
  });

  test('sessions: update changes a stored session, and returns false when there is none', async (t, sessions) => {
    await sessions.insert(aSession());
    const changed = {
      id: aSession().id,
      payload: { loginTs: NOW + 1 },
      expiresAt: NOW + 2 * HOUR,
      lastUsedAt: NOW + HOUR,
    };
    t.true(await sessions.update(changed));
    t.deepEqual((await sessions.find(changed.id))?.session, aSession(changed));
    await sessions.delete(changed.id);
    t.false(await sessions.update(changed));
    t.is(await sessions.find(changed.id), undefined);
  });

  test('sessions: update returns true for a stored session also when no value changes', async (t, sessions) => {
    await sessions.insert(aSession());
    t.true(await sessions.update(aSession()));
    t.true(await sessions.update(aSession()));
  });

  test('sessions: after updates and a deletion at once, the session is deleted', async (t, sessions) => {
    for (let round = 0; round < 20; round += 1) {
      const session = aSession({ id: `session ${round}`, uid: `uid ${round}` });
      await sessions.insert(session);
      const updates = Array.from({ length: 5 }, async () => sessions.update(session));
      await Promise.all([...updates, sessions.delete(session.id)]);
      t.is(await sessions.find(session.id), undefined);
    }
  });

  test('sessions: calls at once end all sessions of a user but one, each of them once, and none of another user', async (t, sessions, storage) => {
    const { ends, grants, userData } = storage;
    await ends.read('test', ['session', 'sign_in'], Number.MAX_SAFE_INTEGER);
    const names = Array.from({ length: 130 }, (_, index) => `session ${(index * 17) % 130}`);
    for (const id of names) await sessions.insert(aSession({ id, uid: id }));
    const others = [{ userId: 'bob' }, { expiresAt: NOW }].map((fields, index) =>
      aSession({ id: `other ${index}`, uid: `other ${index}`, ...fields }),
    );
    for (const other of others) await sessions.insert(other);
    const { userId } = aSession();
    for (const sessionUid of ['session 7', 'session 80', 'session 5', 'other 0'])
      await grants.insert(aGrant({ id: sessionUid, userId, sessionUid }), aCode({ id: sessionUid }));
    const list = async (limit: number) => userData.sessions(userId, { now: NOW, limit });
    t.is((await list(50)).length, 50);
    const ended = await Promise.all([
      sessions.endOthers(userId, 'session 5', NOW),
      sessions.end('session 7', userId),
      sessions.endOthers(userId, 'session 5', NOW),
    ]);
    t.is(
      ended.reduce((sum: number, number) => sum + Number(number), 0),
      129,
    );
    t.deepEqual(
      (await list(50)).map(({ id }) => id),
      ['session 5'],
    );
    for (const { id } of others) t.is((await sessions.find(id))?.session.id, id);
    t.false(await sessions.end('other 0', userId));
    const later = { now: Number.MAX_SAFE_INTEGER - 1, leasedUntil: Number.MAX_SAFE_INTEGER, limit: 500 };
    const written = await ends.take('test', later);
    t.is(written.filter(({ kind }) => kind === 'session').length, 129);
    t.deepEqual(written.flatMap(({ kind, value }) => (kind === 'sign_in' ? value : [])).toSorted(), [
      'session 7',
      'session 80',
    ]);
    const signedIn = await Promise.all(
      ['session 7', 'session 80', 'session 5', 'other 0'].map(
        async (id) => (await grants.find(id))?.sessionUid,
      ),
    );
    t.deepEqual(signedIn, [undefined, undefined, 'session 5', 'other 0']);
  });

  test('sessions: find returns the current revocation sequence with the session', async (t, sessions, storage) => {
    const { revocations } = storage;
    const before = await revocations.latestSequence();
    await sessions.insert(aSession({ sequence: before }));
    t.is((await sessions.find(aSession().id))?.sequence, before);
    await revocations.revokeAllOf({ userId: 'bob' });
    t.is((await sessions.find(aSession().id))?.sequence, await revocations.latestSequence());
    t.true((await revocations.latestSequence()) > before);
  });

  test('sessions: find brings the consent of the user to one client, when it is named', async (t, sessions, storage) => {
    await sessions.insert(aSession());
    const { consent: none } = (await sessions.find(aSession().id, aConsent().clientId))!;
    t.is(none, undefined);
    await storage.consents.add(aConsent());
    await storage.consents.add(aConsent({ userId: 'bob', clientId: 'reports' }));
    const { clientId: client, createdAt, hosts, userId } = aConsent();
    const { consent } = (await sessions.find(aSession().id, client))!;
    t.deepEqual(consent, { userId, clientId: client, hosts, createdAt });
    for (const clientId of [undefined, 'reports', '', 'time\0table', 'x'.repeat(5000)]) {
      const found = await sessions.find(aSession().id, clientId);
      t.deepEqual(found?.session, aSession());
      t.is(found?.consent, undefined);
    }
    t.is(await sessions.find('another', aConsent().clientId), undefined);
  });

  test('sessions: find counts the grants of the user for one client that were not revoked', async (t, sessions, storage) => {
    await sessions.insert(aSession());
    for (const [id, fields] of [
      ['a', {}],
      ['b', {}],
      ['revoked', {}],
      ['of another client', { clientId: 'reports' }],
      ['of another user', { userId: 'bob' }],
    ] as const)
      await storage.grants.insert(aGrant({ id, ...fields }), aCode({ id, grantId: id }));
    await storage.grants.revoke({ id: 'revoked' }, NOW);
    const { clientId } = aGrant();
    t.is((await sessions.find(aSession().id, clientId))?.grants, 2);
    for (const other of [undefined, '', 'unknown', 'time\0table', ...LOOKALIKES])
      t.is((await sessions.find(aSession().id, other))?.grants, 0);
  });

  test('sessions: a session that began before the end of its user is not found, also when stored later', async (t, sessions, storage) => {
    const { revocations } = storage;
    const sequence = await revocations.latestSequence();
    await sessions.insert(aSession({ id: 'early', uid: 'early', sequence }));
    await revocations.revokeAllOf({ userId: 'ann' });
    await sessions.insert(aSession({ id: 'late', uid: 'late', sequence }));
    t.is(await sessions.find('early'), undefined);
    t.is(await sessions.find('late'), undefined);
    await sessions.insert(aSession({ id: 'new', uid: 'new', sequence: await revocations.latestSequence() }));
    t.is((await sessions.find('new'))?.session.id, 'new');
    await revocations.revokeAllOf({ all: true });
    t.is(await sessions.find('new'), undefined);
  });

  test('sessions: deleteOfUser deletes the sessions of one user and returns their number', async (t, sessions) => {
    await sessions.insert(aSession({ id: '1', uid: '1' }));
    await sessions.insert(aSession({ id: '2', uid: '2' }));
    await sessions.insert(aSession({ id: '3', uid: '3', userId: 'Ann' }));
    t.is(await sessions.deleteOfUser('ann'), 2);
    t.is(await sessions.deleteOfUser('ann'), 0);
    t.is(await sessions.find('1'), undefined);
    t.is((await sessions.find('3'))?.session.userId, 'Ann');
  });

  test('sessions: ids are compared exactly', async (t, sessions) => {
    await sessions.insert(aSession({ id: 'Id', uid: 'Id' }));
    for (const id of LOOKALIKES) {
      t.is(await sessions.find(id), undefined, id);
      t.false(await sessions.update(aSession({ id })), id);
      await sessions.delete(id);
    }
    t.deepEqual((await sessions.find('Id'))?.session, aSession({ id: 'Id', uid: 'Id' }));
  });

  test('sessions: changing a found session does not change the stored one, which may be expired', async (t, sessions) => {
    await sessions.insert(aSession({ expiresAt: NOW - 1 }));
    const found = await sessions.find(aSession().id);
    Object.assign(found?.session.payload ?? {}, { loginTs: 0 });
    const again = await sessions.find(aSession().id);
    t.true(again === undefined || again.session.payload['loginTs'] === NOW);
  });
}
