import { aCode, aConsent, aGrant, aRefreshToken, LOOKALIKES, NOW, aSession, rowsOf } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

export function credentialContract(test: StorageTest): void {
  test('credentials: start stores a code and its grant, and find returns both', async (t, {
    credentials,
  }) => {
    t.true(await credentials.start(aGrant(), aCode()));
    t.deepEqual(rowsOf(await credentials.find('code', aCode().id)), { credential: aCode(), grant: aGrant() });
  });

  test('credentials: start stores the code and its grant, or neither', async (t, { credentials, grants }) => {
    await credentials.start(aGrant(), aCode());
    const sameCode = credentials.start(aGrant({ id: 'other' }), aCode({ grantId: 'other' }));
    await t.throwsAsync(sameCode, { code: 'ERR_STORAGE' });
    t.is(await grants.find('other'), undefined);
    const sameGrant = credentials.start(aGrant(), aCode({ id: 'other' }));
    await t.throwsAsync(sameGrant, { code: 'ERR_STORAGE' });
    t.is(await credentials.find('code', 'other'), undefined);
  });

  test('credentials: start with a consent returns false and stores nothing when it is not stored', async (t, {
    consents,
    credentials,
    grants,
  }) => {
    await consents.add(aConsent());
    t.true(await credentials.start(aGrant(), aCode(), { consent: aConsent() }));
    t.deepEqual(rowsOf(await credentials.find('code', aCode().id)), { credential: aCode(), grant: aGrant() });

    const [grant, code] = [aGrant({ id: 'other' }), aCode({ id: 'other', grantId: 'other' })];
    const others = [{ userId: 'bob' }, { clientId: 'other' }, { createdAt: NOW + 1 }, { userId: 'Ann' }];
    for (const other of others) t.false(await credentials.start(grant, code, { consent: aConsent(other) }));
    await consents.delete('ann', 'timetable');
    t.false(await credentials.start(grant, code, { consent: aConsent() }));
    t.is(await grants.find('other'), undefined);
    t.is(await credentials.find('code', 'other'), undefined);
    t.true(await credentials.start(grant, code));
  });

  test('credentials: start with a login session returns false and stores nothing when it is not stored', async (t, storage) => {
    const { consents, credentials, grants, sessions } = storage;
    const [sessionId, consent] = [aSession().id, aConsent()];
    await sessions.insert(aSession());
    await consents.add(consent);
    t.true(await credentials.start(aGrant(), aCode(), { sessionId }));
    const [both, code] = [aGrant({ id: 'both' }), aCode({ id: 'both', grantId: 'both' })];
    t.true(await credentials.start(both, code, { sessionId, consent }));
    const [grant, other] = [aGrant({ id: 'other' }), aCode({ id: 'other', grantId: 'other' })];
    t.false(await credentials.start(grant, other, { sessionId: 'Session-1' }));
    t.false(await credentials.start(grant, other, { sessionId, consent: aConsent({ createdAt: 0 }) }));
    await sessions.delete(sessionId);
    t.false(await credentials.start(grant, other, { sessionId }));
    t.false(await credentials.start(grant, other, { sessionId, consent }));
    t.is(await grants.find('other'), undefined);
    t.is(await credentials.find('code', 'other'), undefined);
  });

  test('credentials: start and the deletion of its consent at once leave no usable code', async (t, {
    consents,
    credentials,
    grants,
  }) => {
    for (let round = 0; round < 20; round += 1) {
      await consents.add(aConsent());
      const id = `${round}`;
      const [isStarted] = await Promise.all([
        credentials.start(aGrant({ id }), aCode({ id, grantId: id }), { consent: aConsent() }),
        (async () => {
          t.true(await consents.delete('ann', 'timetable'));
          await grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW);
        })(),
        consents.touch('ann', 'timetable', NOW),
      ]);
      t.is(await credentials.find('code', id), undefined);
      t.is((await grants.find(id))?.revokedAt, isStarted ? NOW : undefined);
    }
  });

  test('credentials: find returns expired credentials, because the caller checks the time', async (t, {
    credentials,
  }) => {
    const grant = aGrant({ expiresAt: NOW - 1 });
    const code = aCode({ expiresAt: NOW - 1 });
    await credentials.start(grant, code);
    t.deepEqual(rowsOf(await credentials.find('code', code.id)), { credential: code, grant });
  });

  test('credentials: a code and a refresh token with the same id are different credentials', async (t, {
    credentials,
  }) => {
    await credentials.start(aGrant(), aCode({ id: 'same' }));
    t.is(await credentials.find('refresh_token', 'same'), undefined);
    const successor = aRefreshToken({ id: 'same' });
    await credentials.redeem({ kind: 'code', id: 'same' }, { successor });
    t.true((await credentials.find('code', 'same'))?.spentFor !== undefined);
    t.deepEqual((await credentials.find('refresh_token', 'same'))?.credential, successor);
  });

  test('credentials: ids are compared exactly', async (t, { credentials }) => {
    await credentials.start(aGrant(), aCode({ id: 'Id' }));
    for (const id of LOOKALIKES) {
      t.is(await credentials.find('code', id), undefined, id);
      t.deepEqual(await credentials.redeem({ kind: 'code', id }, {}), { outcome: 'gone' }, id);
    }
    t.is((await credentials.find('code', 'Id'))?.credential.consumedAt, undefined);
  });

  test('credentials: find returns the payload unchanged, with every JSON type and character', async (t, {
    credentials,
  }) => {
    const payload = {
      quotes: `'"\`\\`,
      emoji: '🎒',
      zero: 0,
      large: 2 ** 53 - 1,
      no: false,
      nothing: null,
      list: [],
      long: 'x'.repeat(70_000),
    };
    await credentials.start(aGrant(), aCode({ payload }));
    t.deepEqual((await credentials.find('code', aCode().id))?.credential.payload, payload);
  });
}
