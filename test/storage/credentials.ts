import type { Credential, GrantPrerequisites, Storage } from '../../lib/contracts/index.ts';
import { aCode, aConsent, aGrant, aRefreshToken, LOOKALIKES, NOW, aSession, rowsOf } from './rows.ts';
import { onlyOneOf, testsOf } from './store-tests.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from './store-tests.ts';

const STORED = { credential: aCode(), grant: aGrant() };

export function credentialContract(register: StorageTest): void {
  const test = testsOf(register, 'grants');

  test('grants: insert stores a code and its grant, and findCredential returns both', async (t, grants) => {
    t.true(await grants.insert(aGrant(), aCode()));
    t.deepEqual(rowsOf(await grants.findCredential('code', aCode().id)), STORED);
  });

  test('grants: insert stores the code and its grant, or neither', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    const sameCode = grants.insert(aGrant({ id: 'other' }), aCode({ grantId: 'other' }));
    await t.throwsAsync(sameCode, { code: 'ERR_STORAGE' });
    t.is(await grants.find('other'), undefined);
    const sameGrant = grants.insert(aGrant(), aCode({ id: 'other' }));
    await t.throwsAsync(sameGrant, { code: 'ERR_STORAGE' });
    t.is(await grants.findCredential('code', 'other'), undefined);
  });

  test('grants: insert with a consent returns false and stores nothing when it is not stored', async (t, grants, storage) => {
    await storage.consents.add(aConsent());
    t.true(await grants.insert(aGrant(), aCode(), { consent: aConsent() }));
    t.deepEqual(rowsOf(await grants.findCredential('code', aCode().id)), STORED);

    const [grant, code] = [aGrant({ id: 'other' }), aCode({ id: 'other', grantId: 'other' })];
    const others = [{ userId: 'bob' }, { clientId: 'other' }, { createdAt: NOW + 1 }, { userId: 'Ann' }];
    for (const other of others) t.false(await grants.insert(grant, code, { consent: aConsent(other) }));
    await storage.consents.delete('ann', 'timetable');
    t.false(await grants.insert(grant, code, { consent: aConsent() }));
    t.is(await grants.find('other'), undefined);
    t.is(await grants.findCredential('code', 'other'), undefined);
    t.true(await grants.insert(grant, code));
  });

  test('grants: insert with a login session returns false and stores nothing when it is not stored', async (t, grants, storage) => {
    const [sessionId, consent] = [aSession().id, aConsent()];
    await storage.sessions.insert(aSession());
    await storage.consents.add(consent);
    t.true(await grants.insert(aGrant(), aCode(), { sessionId }));
    const [both, code] = [aGrant({ id: 'both' }), aCode({ id: 'both', grantId: 'both' })];
    t.true(await grants.insert(both, code, { sessionId, consent }));
    const [grant, other] = [aGrant({ id: 'other' }), aCode({ id: 'other', grantId: 'other' })];
    t.false(await grants.insert(grant, other, { sessionId: 'Session-1' }));
    t.false(await grants.insert(grant, other, { sessionId, consent: aConsent({ createdAt: 0 }) }));
    await storage.sessions.delete(sessionId);
    t.false(await grants.insert(grant, other, { sessionId }));
    t.false(await grants.insert(grant, other, { sessionId, consent }));
    t.is(await grants.find('other'), undefined);
    t.is(await grants.findCredential('code', 'other'), undefined);
  });

  test('grants: insert spends a row once, of many calls at once too, and not when it stores nothing', async (t, grants, storage) => {
    const { clients, consents, revocations, sessions } = storage;
    await sessions.insert(aSession());
    await consents.add(aConsent());
    const insert = async (id: string, spent: string, more: GrantPrerequisites = {}): Promise<boolean> =>
      grants.insert(aGrant({ id }), aCode({ id, grantId: id }), {
        ...more,
        spends: { table: 'gatehouse_assertions', id: spent },
      });
    const all = { consent: aConsent(), sessionId: aSession().id };
    for (const [round, prerequisites] of [{}, { sessionId: all.sessionId }, all].entries()) {
      const row = `row ${round}`;
      t.false(await insert(row, row, prerequisites));
      t.is(await grants.find(row), undefined);
      await clients.redeemAssertion(row, NOW);
      t.false(await insert(row, row, { ...all, consent: aConsent({ createdAt: 0 }) }));
      t.false(await insert(row, row, { ...prerequisites, sessionId: 'unknown' }));
      const first = await onlyOneOf(t, 6, async (index) => insert(`${row} ${index}`, row, prerequisites));
      t.true((await grants.findCredential('code', `${row} ${first}`)) !== undefined);
      t.true(await clients.redeemAssertion(row, NOW), 'it is gone');
    }
    await revocations.revokeAllOf({ userId: aGrant().userId });
    t.false(await insert('ended', 'row 0'));
    t.false(await clients.redeemAssertion('row 0', NOW), 'it is still there');
  });

  test('grants: insert and the deletion of its consent at once leave no usable code', async (t, grants, storage) => {
    await endsWithItsConsent(t, storage, 'code', async (id) => async () => {
      return grants.insert(aGrant({ id }), aCode({ id, grantId: id }), { consent: aConsent() });
    });
  });

  test('credentials: findCredential returns expired credentials, because the caller checks the time', async (t, grants) => {
    const grant = aGrant({ expiresAt: NOW - 1 });
    const code = aCode({ expiresAt: NOW - 1 });
    await grants.insert(grant, code);
    t.deepEqual(rowsOf(await grants.findCredential('code', code.id)), { credential: code, grant });
  });

  test('credentials: a code and a refresh token with the same id are different credentials', async (t, grants) => {
    await grants.insert(aGrant(), aCode({ id: 'same' }));
    t.is(await grants.findCredential('refresh_token', 'same'), undefined);
    const successor = aRefreshToken({ id: 'same' });
    await grants.redeem({ kind: 'code', id: 'same' }, { successor });
    t.true((await grants.findCredential('code', 'same'))?.spentFor !== undefined);
    t.deepEqual((await grants.findCredential('refresh_token', 'same'))?.credential, successor);
  });

  test('credentials: ids are compared exactly', async (t, grants) => {
    await grants.insert(aGrant(), aCode({ id: 'Id' }));
    for (const id of LOOKALIKES) {
      t.is(await grants.findCredential('code', id), undefined, id);
      t.deepEqual(await grants.redeem({ kind: 'code', id }, {}), { outcome: 'gone' }, id);
    }
    t.is((await grants.findCredential('code', 'Id'))?.credential.consumedAt, undefined);
  });

  test('credentials: findCredential returns the payload unchanged, with every JSON type and character', async (t, grants) => {
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
    await grants.insert(aGrant(), aCode({ payload }));
    t.deepEqual((await grants.findCredential('code', aCode().id))?.credential.payload, payload);
  });
}

/**
 * A grant that is inserted while its consent is deleted leaves no usable credential.
 *
 * @param prepare - prepares the insertion of a grant and its credential with this id, and resolves to the insertion
 */
export async function endsWithItsConsent(
  t: Assertions,
  { consents, grants }: Storage,
  kind: Credential['kind'],
  prepare: (id: string) => Promise<() => Promise<boolean>>,
): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const id = `${round}`;
    await consents.add(aConsent());
    const insert = await prepare(id);
    const [isInserted] = await Promise.all([
      insert(),
      (async () => {
        t.true(await consents.delete('ann', 'timetable'));
        await grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW);
      })(),
      consents.touch('ann', 'timetable', NOW),
    ]);
    t.is(await grants.findCredential(kind, id), undefined);
    t.is((await grants.find(id))?.revokedAt, isInserted ? NOW : undefined);
  }
}
