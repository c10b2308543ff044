import type { EndedParty, Storage, TokenInQuestion } from '../../contracts/index.ts';
import { aClient, aCode, aGrant, aRefreshToken, aRevokedToken, HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

export function revocationContract(test: StorageTest): void {
  test('revocations: stands returns false for a revoked token', async (t, { revocations }) => {
    t.true(await revocations.stands(aClientsToken()));
    await revocations.add(aRevokedToken({ id: 'jti-1' }));
    t.false(await revocations.stands(aClientsToken()));
    t.true(await revocations.stands(aClientsToken({ id: 'jti-2' })));
  });

  test('revocations: token ids are compared exactly', async (t, { revocations }) => {
    await revocations.add(aRevokedToken({ id: 'Id' }));
    for (const id of LOOKALIKES) t.true(await revocations.stands(aClientsToken({ id })), id);
  });

  test('revocations: a token that is revoked twice stays revoked until the later expiry', async (t, storage) => {
    const { revocations } = storage;
    const late = aRevokedToken({ revokedAt: NOW + 9, expiresAt: NOW + HOUR + 9 });
    for (const token of [aRevokedToken(), late, aRevokedToken()]) await revocations.add(token);
    t.is(await storage.prune(NOW + HOUR + 9, 10), 0);
    t.is(await storage.prune(NOW + HOUR + 10, 10), 1);
  });

  test("revocations: end of a client invalidates its earlier tokens, not later ones or another client's", async (t, {
    revocations,
  }) => {
    const sequence = await revocations.sequence();
    await revocations.end({ clientId: 'timetable' });
    t.false(await revocations.stands(aClientsToken({ sequence })));
    t.true(await revocations.stands(aClientsToken({ sequence: await revocations.sequence() })));
    t.true(await revocations.stands(aClientsToken({ clientId: 'Timetable', sequence })));
  });

  const parties: readonly [who: string, party: EndedParty][] = [
    ['a user', { userId: 'ann' }],
    ['a client', { clientId: 'timetable' }],
    ['all', { all: true }],
  ];
  for (const [who, party] of parties) {
    test(`revocations: end of ${who} invalidates the grants that began before, also those stored later`, async (t, storage) => {
      const { credentials, revocations } = storage;
      const sequence = await revocations.sequence();
      await start(storage, 'early', sequence);
      await revocations.end(party);
      await start(storage, 'late', sequence);
      await start(storage, 'new', await revocations.sequence());
      for (const id of ['early', 'late']) {
        t.false(await revocations.stands(aUsersToken(id)), id);
        t.is(await credentials.find('code', `code of ${id}`), undefined, id);
        const redeemed = await credentials.redeem({ kind: 'code', id: `code of ${id}` }, {});
        t.deepEqual(redeemed, { outcome: 'gone' }, id);
      }
      t.true(await revocations.stands(aUsersToken('new')));
      t.is((await credentials.find('code', 'code of new'))?.grant.id, 'new');
    });

    if ('all' in party) continue;

    test(`revocations: end of ${who} compares ids exactly`, async (t, storage) => {
      const sequence = await storage.revocations.sequence();
      await storage.credentials.start(aGrant({ userId: 'Id', clientId: 'Id', sequence }), aCode());
      for (const id of LOOKALIKES) {
        await storage.revocations.end('userId' in party ? { userId: id } : { clientId: id });
      }
      t.true(await storage.revocations.stands({ ...aUsersToken('grant-1', 'Id'), clientId: 'Id' }));
    });
  }

  test("revocations: a user's token is valid while its grant, of that user and client, is not revoked", async (t, storage) => {
    const { credentials, grants, revocations } = storage;
    await start(storage, 'grant-1', await revocations.sequence());
    const token = aUsersToken('grant-1');
    t.true(await revocations.stands(token));
    t.false(await revocations.stands({ ...token, clientId: 'other' }));
    t.false(await revocations.stands({ ...token, grant: { id: 'grant-1', userId: 'bob' } }));
    t.false(await revocations.stands(aUsersToken('unknown')));
    const successor = aRefreshToken({ id: 'successor' });
    await credentials.redeem({ kind: 'code', id: 'code of grant-1' }, { successor });
    t.true(await revocations.stands(token));
    await revocations.add(aRevokedToken({ id: token.id }));
    t.false(await revocations.stands(token));
    const other = { ...token, id: 'jti-2' };
    t.true(await revocations.stands(other));
    await grants.revoke({ id: 'grant-1' }, NOW);
    t.false(await revocations.stands(other));
  });

  test('revocations: each call of end has a sequence number of its own, also with twenty at once', async (t, storage) => {
    const { revocations } = storage;
    const before = await revocations.sequence();
    const users = Array.from({ length: 20 }, (_, index) => `user ${index}`);
    await Promise.all(users.map(async (userId) => revocations.end({ userId })));
    const latest = await revocations.sequence();
    t.true(latest >= before + users.length);
    // Grants that began before the last end, and after the others, are ended for exactly one user.
    const sequence = latest - 1;
    for (const userId of users) await start(storage, userId, sequence, userId);
    const stand = await Promise.all(
      users.map(async (userId) => revocations.stands(aUsersToken(userId, userId))),
    );
    t.is(stand.filter((stands) => !stands).length, 1);
  });

  test('revocations: end of all invalidates the tokens of every client, also of one that is registered later', async (t, {
    clients,
    revocations,
  }) => {
    const sequence = await revocations.sequence();
    await clients.insert(aClient(), []);
    await revocations.end({ all: true });
    const latest = await revocations.sequence();
    await clients.insert(aClient({ id: 'later' }), []);
    for (const clientId of [aClient().id, 'later']) {
      t.false(await revocations.stands(aClientsToken({ clientId, sequence })), clientId);
      t.is((await clients.find(clientId))?.sequence, latest, clientId);
      t.true(await revocations.stands(aClientsToken({ clientId, sequence: latest })), clientId);
    }
    await revocations.end({ clientId: 'later' });
    t.true((await clients.find('later'))!.sequence > latest);
  });

  test('revocations: end takes a greater sequence than those that a restored backup lacks', async (t, {
    revocations,
  }) => {
    // The latest number of a storage that ended a party a second ago and has been replaced by an older copy.
    const lost = (Date.now() - 1000) * 1000;
    t.true(await revocations.stands(aClientsToken({ sequence: lost })));
    await revocations.end({ clientId: 'timetable' });
    t.false(await revocations.stands(aClientsToken({ sequence: lost })));
    t.true(Number.isSafeInteger(await revocations.sequence()));
  });

  test('revocations: prune does not delete what end has stored', async (t, storage) => {
    const sequence = await storage.revocations.sequence();
    await storage.revocations.end({ clientId: 'timetable' });
    t.is(await storage.prune(NOW * 2, 10), 0);
    t.false(await storage.revocations.stands(aClientsToken({ sequence })));
  });
}

function aClientsToken(fields: Partial<TokenInQuestion> = {}): TokenInQuestion {
  return { id: 'jti-1', clientId: 'timetable', grant: undefined, sequence: 0, ...fields };
}

function aUsersToken(grantId: string, userId = 'ann'): TokenInQuestion {
  return { ...aClientsToken(), grant: { id: grantId, userId } };
}

async function start({ credentials }: Storage, id: string, sequence: number, userId = 'ann'): Promise<void> {
  await credentials.start(aGrant({ id, userId, sequence }), aCode({ id: `code of ${id}`, grantId: id }));
}
