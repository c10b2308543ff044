import type { RevokedParty, Storage, TokenInQuestion } from '../../lib/contracts/index.ts';
import { aClient, aCode, aGrant, aRefreshToken, aRevokedToken, HOUR, LOOKALIKES, NOW } from './rows.ts';
import { testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function revocationContract(register: StorageTest): void {
  const test = testsOf(register, 'revocations');

  test('revocations: isValid returns false for a revoked token', async (t, revocations) => {
    t.true(await revocations.isValid(aClientsToken()));
    await revocations.revokeToken(aRevokedToken({ id: 'jti-1' }));
    t.false(await revocations.isValid(aClientsToken()));
    t.true(await revocations.isValid(aClientsToken({ id: 'jti-2' })));
  });

  test('revocations: token ids are compared exactly', async (t, revocations) => {
    await revocations.revokeToken(aRevokedToken({ id: 'Id' }));
    for (const id of LOOKALIKES) t.true(await revocations.isValid(aClientsToken({ id })), id);
  });

  test('revocations: a token that is revoked twice stays revoked until the later expiry', async (t, revocations, storage) => {
    const late = aRevokedToken({ revokedAt: NOW + 9, expiresAt: NOW + HOUR + 9 });
    for (const token of [aRevokedToken(), late, aRevokedToken()]) await revocations.revokeToken(token);
    t.is(await storage.prune(NOW + HOUR + 9, 10), 0);
    t.is(await storage.prune(NOW + HOUR + 10, 10), 1);
  });

  test("revocations: revokeAllOf a client invalidates its earlier tokens, not later ones or another client's", async (t, revocations) => {
    const sequence = await revocations.latestSequence();
    await revocations.revokeAllOf({ clientId: 'timetable' });
    t.false(await revocations.isValid(aClientsToken({ sequence })));
    t.true(await revocations.isValid(aClientsToken({ sequence: await revocations.latestSequence() })));
    t.true(await revocations.isValid(aClientsToken({ clientId: 'Timetable', sequence })));
  });

  const parties: readonly [who: string, party: RevokedParty][] = [
    ['a user', { userId: 'ann' }],
    ['a client', { clientId: 'timetable' }],
    ['all', { all: true }],
  ];
  for (const [who, party] of parties) {
    test(`revocations: revokeAllOf ${who} invalidates the grants that began before, also those stored later`, async (t, revocations, storage) => {
      const sequence = await revocations.latestSequence();
      await start(storage, 'early', sequence);
      await revocations.revokeAllOf(party);
      await start(storage, 'late', sequence);
      await start(storage, 'new', await revocations.latestSequence());
      for (const id of ['early', 'late']) {
        t.false(await revocations.isValid(aUsersToken(id)), id);
        t.is(await storage.grants.findCredential('code', `code of ${id}`), undefined, id);
        const redeemed = await storage.grants.redeem({ kind: 'code', id: `code of ${id}` }, {});
        t.deepEqual(redeemed, { outcome: 'gone' }, id);
      }
      t.true(await revocations.isValid(aUsersToken('new')));
      t.is((await storage.grants.findCredential('code', 'code of new'))?.grant.id, 'new');
    });

    if ('all' in party) continue;

    test(`revocations: revokeAllOf ${who} compares ids exactly`, async (t, revocations, storage) => {
      const sequence = await revocations.latestSequence();
      await storage.grants.insert(aGrant({ userId: 'Id', clientId: 'Id', sequence }), aCode());
      for (const id of LOOKALIKES) {
        await revocations.revokeAllOf('userId' in party ? { userId: id } : { clientId: id });
      }
      t.true(await revocations.isValid({ ...aUsersToken('grant-1', 'Id'), clientId: 'Id' }));
    });
  }

  test("revocations: a user's token is valid while its grant, of that user and client, is not revoked", async (t, revocations, storage) => {
    await start(storage, 'grant-1', await revocations.latestSequence());
    const token = aUsersToken('grant-1');
    t.true(await revocations.isValid(token));
    t.false(await revocations.isValid({ ...token, clientId: 'other' }));
    t.false(await revocations.isValid({ ...token, grant: { id: 'grant-1', userId: 'bob' } }));
    t.false(await revocations.isValid(aUsersToken('unknown')));
    const successor = aRefreshToken({ id: 'successor' });
    await storage.grants.redeem({ kind: 'code', id: 'code of grant-1' }, { successor });
    t.true(await revocations.isValid(token));
    await revocations.revokeToken(aRevokedToken({ id: token.id }));
    t.false(await revocations.isValid(token));
    const other = { ...token, id: 'jti-2' };
    t.true(await revocations.isValid(other));
    await storage.grants.revoke({ id: 'grant-1' }, NOW);
    t.false(await revocations.isValid(other));
  });

  test('revocations: each call of revokeAllOf has a sequence number of its own, also with twenty at once', async (t, revocations, storage) => {
    const before = await revocations.latestSequence();
    const users = Array.from({ length: 20 }, (_, index) => `user ${index}`);
    await Promise.all(users.map(async (userId) => revocations.revokeAllOf({ userId })));
    const latest = await revocations.latestSequence();
    t.true(latest >= before + users.length);
    // Grants that began before the last end, and after the others, are ended for exactly one user.
    const sequence = latest - 1;
    for (const userId of users) await start(storage, userId, sequence, userId);
    const valid = await Promise.all(
      users.map(async (userId) => revocations.isValid(aUsersToken(userId, userId))),
    );
    t.is(valid.filter((isValid) => !isValid).length, 1);
  });

  test('revocations: revokeAllOf all invalidates the tokens of every client, also of one that is registered later', async (t, revocations, storage) => {
    const { clients } = storage;
    const sequence = await revocations.latestSequence();
    await clients.insert(aClient(), []);
    await revocations.revokeAllOf({ all: true });
    const latest = await revocations.latestSequence();
    await clients.insert(aClient({ id: 'later' }), []);
    for (const clientId of [aClient().id, 'later']) {
      t.false(await revocations.isValid(aClientsToken({ clientId, sequence })), clientId);
      t.is((await clients.find(clientId))?.sequence, latest, clientId);
      t.true(await revocations.isValid(aClientsToken({ clientId, sequence: latest })), clientId);
    }
    await revocations.revokeAllOf({ clientId: 'later' });
    t.true((await clients.find('later'))!.sequence > latest);
  });

  test('revocations: revokeAllOf takes a greater sequence than those that a restored backup lacks', async (t, revocations) => {
    // The latest number of a storage that ended a party a second ago and has been replaced by an older copy.
    const lost = (Date.now() - 1000) * 1000;
    t.true(await revocations.isValid(aClientsToken({ sequence: lost })));
    await revocations.revokeAllOf({ clientId: 'timetable' });
    t.false(await revocations.isValid(aClientsToken({ sequence: lost })));
    t.true(Number.isSafeInteger(await revocations.latestSequence()));
  });

  test('revocations: prune does not delete what revokeAllOf has stored', async (t, revocations, storage) => {
    const sequence = await revocations.latestSequence();
    await revocations.revokeAllOf({ clientId: 'timetable' });
    t.is(await storage.prune(NOW * 2, 10), 0);
    t.false(await revocations.isValid(aClientsToken({ sequence })));
  });
}

function aClientsToken(fields: Partial<TokenInQuestion> = {}): TokenInQuestion {
  return { id: 'jti-1', clientId: 'timetable', grant: undefined, sequence: 0, ...fields };
}

function aUsersToken(grantId: string, userId = 'ann'): TokenInQuestion {
  return { ...aClientsToken(), grant: { id: grantId, userId } };
}

async function start({ grants }: Storage, id: string, sequence: number, userId = 'ann'): Promise<void> {
  await grants.insert(aGrant({ id, userId, sequence }), aCode({ id: `code of ${id}`, grantId: id }));
}
