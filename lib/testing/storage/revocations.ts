import type { Storage, TokenInQuestion } from '../../contracts/index.ts';
import { aCode, aGrant, aRefreshToken, aRevokedToken, HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

export function revocationContract(test: StorageTest): void {
  test('revocations: a token that was revoked does not stand', async (t, { revocations }) => {
    t.true(await revocations.stands(aClientsToken()));
    await revocations.add(aRevokedToken({ id: 'jti-1' }));
    t.false(await revocations.stands(aClientsToken()));
    t.true(await revocations.stands(aClientsToken({ id: 'jti-2' })));
  });

  test('revocations: token ids are taken exactly', async (t, { revocations }) => {
    await revocations.add(aRevokedToken({ id: 'Id' }));
    for (const id of LOOKALIKES) t.true(await revocations.stands(aClientsToken({ id })), id);
  });

  test('revocations: a token that is revoked again stays revoked until the later time', async (t, storage) => {
    const { revocations } = storage;
    const late = aRevokedToken({ revokedAt: NOW + 9, expiresAt: NOW + HOUR + 9 });
    for (const token of [aRevokedToken(), late, aRevokedToken()]) await revocations.add(token);
    t.is(await storage.prune(NOW + HOUR + 9, 10), 0);
    t.is(await storage.prune(NOW + HOUR + 10, 10), 1);
  });

  test("revocations: ending a client ends its own tokens of before, and nobody else's", async (t, {
    revocations,
  }) => {
    const sequence = await revocations.sequence();
    await revocations.end({ clientId: 'timetable' });
    t.false(await revocations.stands(aClientsToken({ sequence })));
    t.true(await revocations.stands(aClientsToken({ sequence: await revocations.sequence() })));
    t.true(await revocations.stands(aClientsToken({ clientId: 'Timetable', sequence })));
  });

  const parties = [{ userId: 'ann' }, { clientId: 'timetable' }] as const;
  for (const party of parties) {
    const who = 'userId' in party ? 'a user' : 'a client';

    test(`revocations: ending ${who} ends the grants that were begun before, also those saved later`, async (t, storage) => {
      const { credentials, revocations } = storage;
      const sequence = await revocations.sequence();
      await start(storage, 'early', sequence);
      await revocations.end(party);
      await start(storage, 'late', sequence);
      await start(storage, 'new', await revocations.sequence());
      for (const id of ['early', 'late']) {
        t.false(await revocations.stands(aUsersToken(id)), id);
        t.is(await credentials.find('code', `code of ${id}`), undefined, id);
        const redeemed = await credentials.redeem({ kind: 'code', id: `code of ${id}` }, { at: NOW });
        t.deepEqual(redeemed, { outcome: 'gone' }, id);
      }
      t.true(await revocations.stands(aUsersToken('new')));
      t.is((await credentials.find('code', 'code of new'))?.grant.id, 'new');
    });

    test(`revocations: ending ${who} leaves other ids alone`, async (t, storage) => {
      const sequence = await storage.revocations.sequence();
      await storage.credentials.start(aGrant({ userId: 'Id', clientId: 'Id', sequence }), aCode());
      for (const id of LOOKALIKES) {
        await storage.revocations.end('userId' in party ? { userId: id } : { clientId: id });
      }
      t.true(await storage.revocations.stands({ ...aUsersToken('grant-1', 'Id'), clientId: 'Id' }));
    });
  }

  test("revocations: a user's token stands on its grant, of that user and that client", async (t, storage) => {
    const { credentials, grants, revocations } = storage;
    await start(storage, 'grant-1', await revocations.sequence());
    const token = aUsersToken('grant-1');
    t.true(await revocations.stands(token));
    t.false(await revocations.stands({ ...token, clientId: 'other' }));
    t.false(await revocations.stands({ ...token, grant: { id: 'grant-1', userId: 'bob' } }));
    t.false(await revocations.stands(aUsersToken('unknown')));
    const successor = aRefreshToken({ id: 'successor' });
    await credentials.redeem({ kind: 'code', id: 'code of grant-1' }, { at: NOW, successor });
    t.true(await revocations.stands(token));
    await revocations.add(aRevokedToken({ id: token.id }));
    t.false(await revocations.stands(token));
    const other = { ...token, id: 'jti-2' };
    t.true(await revocations.stands(other));
    await grants.revoke({ id: 'grant-1' }, NOW);
    t.false(await revocations.stands(other));
  });

  test('revocations: each end has a number of its own, also of many at once', async (t, storage) => {
    const { revocations } = storage;
    const before = await revocations.sequence();
    const users = Array.from({ length: 20 }, (_, index) => `user ${index}`);
    await Promise.all(users.map(async (userId) => revocations.end({ userId })));
    t.is(await revocations.sequence(), before + users.length);
    // Grants that began before the last end, and after the others, are ended for exactly one user.
    const sequence = before + users.length - 1;
    for (const userId of users) await start(storage, userId, sequence, userId);
    const stand = await Promise.all(
      users.map(async (userId) => revocations.stands(aUsersToken(userId, userId))),
    );
    t.is(stand.filter((stands) => !stands).length, 1);
  });

  test('revocations: an end is kept for good', async (t, storage) => {
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
