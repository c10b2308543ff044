import type { LogoutDelivery, LogoutStore, Storage } from '../../contracts/index.ts';
import { aClient, aCode, aGrant, aSession, HOUR, NOW } from './rows.ts';
import { atOnce, testsOf } from '../test-runner.ts';
import type { StorageTest } from '../test-runner.ts';

const NOTICE = { createdAt: NOW, expiresAt: NOW + 48 * HOUR };

/** Signs Ann in, by default at the client `told` in the session `uid-1`. */
async function signIn({ grants }: Storage, id: string, fields: Partial<ReturnType<typeof aGrant>> = {}) {
  const grant = aGrant({
    id,
    clientId: 'told',
    sessionUid: 'uid-1',
    sequence: Number.MAX_SAFE_INTEGER,
    ...fields,
  });
  await grants.insert(grant, aCode({ id: `code of ${id}`, grantId: id }));
}

async function addClients({ clients }: Storage): Promise<void> {
  for (const id of ['told', 'other'])
    await clients.insert(aClient({ id, backchannelLogoutUri: `https://${id}.example/logout` }), []);
  await clients.insert(aClient({ id: 'silent' }), []);
}

/** Takes everything that is due, as one attempt. */
async function takeAll(logouts: LogoutStore, page: Partial<Parameters<LogoutStore['take']>[1]> = {}) {
  const asked = { now: NOW, leasedUntil: NOW + 30, limit: 100, perClient: 100, except: [], ...page };
  const taken = await logouts.take(`attempt at ${asked.now}`, asked);
  return taken.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

const idsOf = (rows: readonly LogoutDelivery[]) => rows.map(({ id }) => id);

export function logoutContract(register: StorageTest): void {
  const test = testsOf(register, 'logouts');

  test('logouts: the end of a session is told to the clients of that session with a URI, each once', async (t, logouts, storage) => {
    const { grants, sessions } = storage;
    await addClients(storage);
    await sessions.insert(aSession());
    await signIn(storage, 'a');
    await signIn(storage, 'b', { clientId: 'other' });
    await signIn(storage, 'other session', { sessionUid: 'uid-2' });
    await signIn(storage, 'no sign-in', { sessionUid: undefined });
    await signIn(storage, 'no URI', { clientId: 'silent' });
    await signIn(storage, 'other user', { userId: 'bob' });
    await sessions.delete('unknown', NOTICE);
    t.deepEqual(await takeAll(logouts), []);
    await Promise.all([sessions.delete('session-1', NOTICE), sessions.delete('session-1', NOTICE)]);
    const first = {
      userId: 'ann',
      sessionUid: 'uid-1',
      ...NOTICE,
      dueAt: NOW + 30,
      attempts: 1,
      attempt: `attempt at ${NOW}`,
      answeredAt: undefined,
      error: undefined,
    };
    t.deepEqual(await takeAll(logouts), [
      { ...first, id: 'a', clientId: 'told', uri: 'https://told.example/logout' },
      { ...first, id: 'b', clientId: 'other', uri: 'https://other.example/logout' },
    ]);
    t.is((await grants.find('a'))?.revokedAt, undefined);
    t.is((await grants.find('a'))?.sessionUid, undefined);
    t.is((await grants.find('other session'))?.sessionUid, 'uid-2');
    await grants.revoke({ userId: 'ann', clientId: 'told' }, NOW, NOTICE);
    t.deepEqual(idsOf(await takeAll(logouts)), ['other session'], 'those who were told are not told again');
  });

  test('logouts: a grant that its client has revoked is told of the end of its session, and of its user, once', async (t, logouts, storage) => {
    const { grants, revocations, sessions } = storage;
    await addClients(storage);
    await sessions.insert(aSession());
    await signIn(storage, 'a');
    await signIn(storage, 'b', { clientId: 'other', sessionUid: 'uid-2' });
    await signIn(storage, 'c', { clientId: 'other', sessionUid: 'uid-3' });
    for (const id of ['a', 'b', 'c']) t.deepEqual(await grants.revoke({ id }, NOW), [id]);
    t.deepEqual(await takeAll(logouts), []);
    await sessions.delete('session-1', NOTICE);
    t.deepEqual(idsOf(await takeAll(logouts)), ['a']);
    t.deepEqual(await grants.revoke({ id: 'b' }, NOW + 5, NOTICE), [], 'it was revoked before');
    t.is((await grants.find('b'))?.revokedAt, NOW);
    t.deepEqual(idsOf(await takeAll(logouts)), ['b']);
    await revocations.revokeAllOf({ userId: 'ann' }, NOTICE);
    t.deepEqual(idsOf(await takeAll(logouts)), ['c']);
    for (const party of [{ userId: 'ann' }, { clientId: 'other' }, { all: true }] as const)
      await revocations.revokeAllOf(party, NOTICE);
    t.deepEqual(await takeAll(logouts), []);
  });

  test('logouts: of two grants of a session, the client is told once; without a notice, nobody', async (t, logouts, storage) => {
    await addClients(storage);
    await storage.sessions.insert(aSession());
    for (const id of ['a', 'b', 'c']) await signIn(storage, id);
    await signIn(storage, 'd', { sessionUid: 'uid-2' });
    await storage.sessions.delete('session-1');
    await storage.grants.revoke({ id: 'c' }, NOW);
    t.deepEqual(await takeAll(logouts), []);
    await storage.grants.revoke({ userId: 'ann', clientId: 'told' }, NOW, NOTICE);
    t.deepEqual((await takeAll(logouts)).map(({ sessionUid }) => sessionUid).toSorted(), ['uid-1', 'uid-2']);
    await signIn(storage, 'e');
    await storage.revocations.revokeAllOf({ userId: 'ann' });
    t.deepEqual(await takeAll(logouts), []);
  });

  test('logouts: the end of a user, a client or all is told to each client of its grants, and again to none', async (t, logouts, storage) => {
    const { grants, revocations } = storage;
    await addClients(storage);
    const parties = [{ userId: 'ann' }, { clientId: 'told' }, { all: true }] as const;
    const told = [
      ['a', 'b'],
      ['a', 'c'],
      ['a', 'b', 'c'],
    ];
    for (const [index, party] of parties.entries()) {
      const of = (id: string) => `${index} ${id}`;
      await signIn(storage, of('a'), { sessionUid: of('a') });
      await signIn(storage, of('b'), { sessionUid: of('b'), clientId: 'other' });
      await signIn(storage, of('c'), { sessionUid: of('c'), userId: 'bob' });
      await signIn(storage, of('d'), { sessionUid: undefined });
      await Promise.all([revocations.revokeAllOf(party, NOTICE), revocations.revokeAllOf(party, NOTICE)]);
      t.deepEqual(idsOf(await takeAll(logouts)), told[index]!.map(of));
      await revocations.revokeAllOf({ all: true }, NOTICE);
      await takeAll(logouts);
      t.is((await grants.find(of('d')))?.revokedAt, undefined);
    }
  });

  test('logouts: a client with a thousand users is told of each of them', async (t, logouts, storage) => {
    await addClients(storage);
    await atOnce(1000, async (index) =>
      signIn(storage, `${index}`, { userId: `${index}`, sessionUid: `${index}` }),
    );
    await storage.revocations.revokeAllOf({ clientId: 'told' }, NOTICE);
    const all = [];
    for (let rows = await takeAll(logouts); rows.length > 0; rows = await takeAll(logouts)) all.push(...rows);
    t.is(new Set(idsOf(all)).size, 1000);
  });

  test('logouts: of many nodes, one takes a delivery, until its lease ends; a late result changes nothing', async (t, logouts, storage) => {
    await addClients(storage);
    for (let index = 0; index < 30; index += 1)
      await signIn(storage, `${index}`, { sessionUid: `${index}`, clientId: index < 20 ? 'told' : 'other' });
    await storage.revocations.revokeAllOf({ userId: 'ann' }, NOTICE);
    const page = { now: NOW, leasedUntil: NOW + 30, limit: 10, perClient: 3, except: [] };
    const few = await logouts.take('few', page);
    t.deepEqual(
      [few.length <= 10, few.filter(({ clientId }) => clientId === 'told').length <= 3],
      [true, true],
    );
    t.deepEqual(
      (await logouts.take('others', { ...page, except: ['told', 'unknown'] })).filter(
        ({ clientId }) => clientId === 'told',
      ),
      [],
    );
    const taken = await atOnce(20, async (index) =>
      logouts.take(`node ${index}`, { ...page, perClient: 10 }),
    );
    const ids = [few, ...taken].flat().map(({ id }) => id);
    t.is(new Set(ids).size, ids.length);
    while ((await takeAll(logouts)).length > 0);
    t.deepEqual(await takeAll(logouts, { now: NOW + 29 }), []);
    const [again] = await takeAll(logouts, { now: NOW + 30, leasedUntil: NOW + 60, limit: 1 });
    t.is(again?.attempts, 2);
    const end = { answeredAt: NOW + 31, dueAt: undefined, error: undefined };
    await logouts.finish([{ id: again!.id, attempt: 'few' }], { ...end, error: 'late' });
    const find = async () => logouts.findLatest(again!.clientId);
    t.is((await find())?.error, undefined);
    await logouts.finish([again!, { id: 'unknown', attempt: 'x' }], end);
    const rest = await takeAll(logouts, { now: NOW + 24 * HOUR });
    t.false(idsOf(rest).includes(again!.id), 'what was delivered is not due any more');
    await logouts.finish(rest, { answeredAt: NOW, dueAt: NOW + 48 * HOUR, error: 'timeout' });
    t.deepEqual(await takeAll(logouts, { now: NOW + 47 * HOUR }), []);
    t.is((await takeAll(logouts, { now: NOW + 48 * HOUR }))[0]?.error, 'timeout');
  });

  test('logouts: a code of a session is redeemed for it until it has ended, and for another one never', async (t, _logouts, storage) => {
    await addClients(storage);
    await storage.sessions.insert(aSession());
    for (const id of ['a', 'b', 'c', 'd']) await signIn(storage, id);
    const redeem = async (id: string, sessionUid?: string) =>
      (await storage.grants.redeem({ kind: 'code', id: `code of ${id}` }, { sessionUid })).outcome;
    t.is(await redeem('a', 'uid-2'), 'gone');
    t.is(await redeem('b', 'uid-1'), 'redeemed');
    t.is(await redeem('b', 'uid-1'), 'spent');
    await storage.sessions.delete('session-1', NOTICE);
    t.is(await redeem('c', 'uid-1'), 'gone');
    t.is(await redeem('d'), 'redeemed');
  });

  test('logouts: the latest of a client, and of each client of a user, the newest first; prune deletes them in time', async (t, logouts, storage) => {
    await addClients(storage);
    const signedOut = async (id: string, fields: Parameters<typeof signIn>[2], after: number) => {
      await signIn(storage, id, { sessionUid: id, ...fields });
      await storage.grants.revoke({ id }, NOW, { createdAt: NOW + after, expiresAt: NOW + HOUR + after });
    };
    await signedOut('0', {}, 0);
    await signedOut('1', { userId: 'bob' }, 1);
    await signedOut('2', {}, 2);
    await signedOut('3', { clientId: 'other' }, 3);
    const latest = async (clientId: string) => (await logouts.findLatest(clientId))?.id;
    const of = async (userId: string) => idsOf(await logouts.listLatest(userId));
    t.deepEqual([await latest('told'), await latest('other'), await latest('silent')], ['2', '3', undefined]);
    t.deepEqual([await of('ann'), await of('bob'), await of('carol')], [['3', '2'], ['1'], []]);
    for (const id of ['', 'a\0b', 'x'.repeat(5000)])
      t.deepEqual([await latest(id), await of(id)], [undefined, []]);
    await storage.prune(NOW + HOUR + 2, 100);
    t.deepEqual([await latest('told'), await of('ann'), await of('bob')], ['2', ['3', '2'], []]);
    await storage.prune(NOW + HOUR + 3, 100);
    t.deepEqual([await latest('told'), await of('ann')], [undefined, ['3']]);
  });
}
