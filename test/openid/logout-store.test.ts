import ava from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase } from '../adapters/databases.ts';
import type { Client, Storage } from '../../lib/contracts/index.ts';
import { ERASED_USER } from '../../lib/contracts/user-data.ts';
import { logoutsOf } from './logouts-of.ts';
import type { LogoutDelivery, LogoutStore } from '../../lib/features/openid/types.ts';
import type { LeftOut } from '../../lib/outbox/deliveries.ts';
import { aClient, aCode, aGrant, aSession, HOUR } from '../storage/rows.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import { atOnce } from '../storage/store-tests.ts';
import type { StorageTest } from '../storage/store-tests.ts';

// A moment after the ends of a test.
const NOW = Math.floor(Date.now() / 1000) + 3600;

/** Reads the ends, as the sender does. */
async function readEnds(storage: Storage, logouts: LogoutStore): Promise<void> {
  for (;;) {
    const ends = await storage.ends.take('openid', {
      now: NOW + HOUR,
      leasedUntil: NOW + 2 * HOUR,
      limit: 256,
    });
    if (ends.length === 0) return;
    await logouts.add(ends);
  }
}

/** Signs Ann in, by default at the client `told` in the session `uid-1`. */
async function signIn(
  { grants, revocations }: Storage,
  id: string,
  fields: Partial<ReturnType<typeof aGrant>> = {},
) {
  const grant = aGrant({
    id,
    clientId: 'told',
    sessionUid: 'uid-1',
    sequence: await revocations.latestSequence(),
    ...fields,
  });
  await grants.insert(grant, aCode({ id: `code of ${id}`, grantId: id }));
}

async function addClients({ clients }: Storage): Promise<void> {
  for (const id of ['told', 'other'])
    await clients.insert(aClient({ id, backchannelLogoutUri: `https://${id}.example/logout` }), []);
  await clients.insert(aClient({ id: 'silent' }), []);
}

const EXCEPT = { receiverIds: [], ownerIds: [], owned: false };

/** What is due, one of each client and owner. */
async function listDue(logouts: LogoutStore, page: Partial<Parameters<LogoutStore['listDue']>[0]> = {}) {
  return logouts.listDue({ now: NOW, limit: 100, except: EXCEPT, ...page });
}

/** Takes everything that is due, as one attempt. */
async function takeAll(logouts: LogoutStore, now = NOW, leasedUntil = now + 30) {
  const all = [];
  for (;;) {
    const due = await listDue(logouts, { now });
    if (due.length === 0) return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    all.push(...(await logouts.take(`attempt at ${now}`, idsOf(due), { now, leasedUntil })));
  }
}

const idsOf = (rows: readonly Pick<LogoutDelivery, 'id'>[]) => rows.map(({ id }) => id);

logoutContract((title, run) => ava(`memory: ${title}`, async (t) => run(t, memoryStorage())));

logoutContract((title, run) =>
  onEachDatabase(title, async (t, _database, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();
    await run(t, storage);
  }),
);

function logoutContract(register: StorageTest): void {
  const test = (
    title: string,
    run: (t: Assertions, logouts: LogoutStore, storage: Storage) => Promise<void>,
  ): void =>
    register(title, async (t, storage) => {
      await storage.ends.read(
        'openid',
        ['sign_in', 'grant', 'user', 'client', 'all'],
        Number.MAX_SAFE_INTEGER,
      );
      const logouts = logoutsOf(storage);
      // As the sender does, before it looks for what is due.
      const withEnds: LogoutStore['listDue'] = async (page) => {
        await readEnds(storage, logouts);
        return logouts.listDue(page);
      };
      await run(t, { ...logouts, listDue: withEnds }, storage);
    });

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
    await sessions.end('unknown');
    t.deepEqual(await takeAll(logouts), []);
    await Promise.all([sessions.end('session-1'), sessions.end('session-1')]);
    const first = {
      userId: 'ann',
      sessionUid: 'uid-1',
      ownerId: undefined,
      dueAt: NOW + 30,
      attempts: 0,
      attempt: `attempt at ${NOW}`,
      answeredAt: undefined,
      error: undefined,
    };
    const told = (await takeAll(logouts)).map(({ createdAt: _c, expiresAt: _e, ...rest }) => rest);
    t.deepEqual(told, [
      { ...first, id: 'a', clientId: 'told', uri: 'https://told.example/logout' },
      { ...first, id: 'b', clientId: 'other', uri: 'https://other.example/logout' },
    ]);
    t.is((await grants.find('a'))?.revokedAt, undefined);
    t.is((await grants.find('a'))?.sessionUid, undefined);
    t.is((await grants.find('other session'))?.sessionUid, 'uid-2');
    await grants.revoke({ userId: 'ann', clientId: 'told' }, NOW);
    t.deepEqual(idsOf(await takeAll(logouts)), ['other session'], 'those who were told are not told again');
  });

  test('logouts: a grant that its client has revoked is told of the end of its session, and of its user, once', async (t, logouts, storage) => {
    const { grants, revocations, sessions } = storage;
    await addClients(storage);
    await sessions.insert(aSession());
    await signIn(storage, 'a');
    await signIn(storage, 'b', { clientId: 'other', sessionUid: 'uid-2' });
    await signIn(storage, 'c', { clientId: 'other', sessionUid: 'uid-3' });
    for (const id of ['a', 'b', 'c']) t.deepEqual(await grants.revoke({ id }, NOW, 'client'), [id]);
    t.deepEqual(await takeAll(logouts), []);
    await sessions.end('session-1');
    t.deepEqual(idsOf(await takeAll(logouts)), ['a']);
    t.deepEqual(await grants.revoke({ id: 'b' }, NOW, 'owner'), [], 'it was revoked before');
    t.is((await grants.find('b'))?.revokedAt, NOW);
    t.deepEqual(idsOf(await takeAll(logouts)), ['b']);
    await revocations.revokeAllOf({ userId: 'ann' });
    t.deepEqual(idsOf(await takeAll(logouts)), ['c']);
    for (const party of [{ userId: 'ann' }, { clientId: 'other' }, { all: true }] as const)
      await revocations.revokeAllOf(party);
    t.deepEqual(await takeAll(logouts), []);
  });

  test('logouts: an end that is read late ends no sign-in that has begun since', async (t, logouts, storage) => {
    const { grants, revocations } = storage;
    await addClients(storage);
    for (const party of [{ userId: 'ann' }, { clientId: 'told' }, { all: true }] as const) {
      const [kind] = Object.keys(party);
      await signIn(storage, `before ${kind}`, { sessionUid: `before ${kind}` });
      await revocations.revokeAllOf(party);
      await signIn(storage, `after ${kind}`, { sessionUid: `after ${kind}` });
      t.true(idsOf(await takeAll(logouts)).includes(`before ${kind}`));
      const since = await grants.find(`after ${kind}`);
      t.deepEqual([since?.revokedAt, since?.sessionUid], [undefined, `after ${kind}`]);
    }
  });

  test('logouts: of two grants of a session, the client is told once; of what it ended itself, it is not', async (t, logouts, storage) => {
    await addClients(storage);
    await storage.sessions.insert(aSession());
    for (const id of ['a', 'b', 'c']) await signIn(storage, id);
    await signIn(storage, 'd', { sessionUid: 'uid-2' });
    await storage.sessions.delete('session-1');
    await storage.grants.revoke({ id: 'c' }, NOW, 'client');
    t.deepEqual(await takeAll(logouts), []);
    await storage.grants.revoke({ userId: 'ann', clientId: 'told' }, NOW);
    t.deepEqual((await takeAll(logouts)).map(({ sessionUid }) => sessionUid).toSorted(), ['uid-1', 'uid-2']);
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
      await Promise.all([revocations.revokeAllOf(party), revocations.revokeAllOf(party)]);
      t.deepEqual(idsOf(await takeAll(logouts)), told[index]!.map(of));
      await revocations.revokeAllOf({ all: true });
      await takeAll(logouts);
      t.is((await grants.find(of('d')))?.revokedAt, undefined);
    }
  });

  test('logouts: a client with a thousand users is told of each of them', async (t, logouts, storage) => {
    await addClients(storage);
    await atOnce(1000, async (index) =>
      signIn(storage, `${index}`, { userId: `${index}`, sessionUid: `${index}` }),
    );
    await storage.revocations.revokeAllOf({ clientId: 'told' });
    t.is(new Set(idsOf(await takeAll(logouts))).size, 1000);
  });

  test('logouts: of many nodes, one takes a delivery, until its lease ends; an attempt counts when it has ended, once', async (t, logouts, storage) => {
    await addClients(storage);
    for (let index = 0; index < 30; index += 1)
      await signIn(storage, `${index}`, { sessionUid: `${index}`, clientId: index < 20 ? 'told' : 'other' });
    await storage.revocations.revokeAllOf({ userId: 'ann' });
    await readEnds(storage, logouts);
    const ids = Array.from({ length: 30 }, (_, index) => `${index}`);
    const times = { now: NOW, leasedUntil: NOW + 30 };
    const taken = await atOnce(20, async (index) => logouts.take(`node ${index}`, ids, times));
    t.deepEqual(idsOf(taken.flat()).toSorted(), ids.toSorted());
    t.deepEqual(await listDue(logouts, { now: NOW + 29 }), []);
    t.deepEqual(await logouts.take('late', ids, { now: NOW + 29, leasedUntil: NOW + 59 }), []);
    t.deepEqual(await logouts.take('none', [], times), []);
    const [again] = await logouts.take('again', ['7', 'unknown'], { now: NOW + 30, leasedUntil: NOW + 60 });
    t.is(again?.attempts, 0, 'nobody knows how the first one has ended');
    const end = { answeredAt: NOW + 31, dueAt: NOW + 40, error: 'timeout' };
    await logouts.finish([{ id: '7', attempt: taken.flat()[0]!.attempt }], { ...end, error: 'late' });
    const find = async (now: number) => (await logouts.take('x', ['7'], { now, leasedUntil: now + 9 }))[0];
    t.is(await find(NOW + 39), undefined);
    for (let time = 0; time < 2; time += 1)
      await logouts.finish([again!, { id: 'unknown', attempt: 'x' }], end);
    const third = await find(NOW + 40);
    t.deepEqual([third?.attempts, third?.error, third?.answeredAt], [1, 'timeout', NOW + 31]);
    await logouts.finish([third!], { answeredAt: NOW + 41, dueAt: undefined, error: undefined });
    t.is(await find(NOW + 24 * HOUR), undefined, 'what was delivered is not due any more');
    const rest = await takeAll(logouts, NOW + HOUR);
    t.is(rest.length, 29);
    await logouts.finish(rest, { answeredAt: NOW, dueAt: NOW + 48 * HOUR, error: 'timeout' });
    t.deepEqual(await takeAll(logouts, NOW + 47 * HOUR), []);
    t.deepEqual(
      (await takeAll(logouts, NOW + 48 * HOUR)).map(({ attempts, error }) => [attempts, error]),
      rest.map(() => [1, 'timeout']),
    );
  });

  test('logouts: of each client and owner one is listed, those of the platform, what was not tried and the oldest first', async (t, logouts, storage) => {
    const { clients } = storage;
    const add = async (id: string, fields: Partial<Client>) =>
      clients.insert(aClient({ id, backchannelLogoutUri: `https://${id}.example/logout`, ...fields }), []);
    await add('platform', { ownerId: undefined });
    await add('verified', { ownerId: 'dev', verified: true });
    await add('first-party', { ownerId: 'dev', firstParty: true });
    await add('owned', { ownerId: 'dev' });
    await add('registered', { ownerId: undefined, source: 'dynamic' });
    const all = ['platform', 'verified', 'first-party', 'owned', 'registered'];
    const at = async (createdAt: number, userId: string, names: readonly string[]) => {
      for (const clientId of names)
        await signIn(storage, `${clientId} ${userId} ${createdAt}`, {
          clientId,
          userId,
          sessionUid: `${userId} ${createdAt}`,
        });
      for (const clientId of names) await storage.grants.revoke({ userId, clientId }, createdAt);
      await readEnds(storage, logouts);
    };
    await at(NOW, 'ann', all.toReversed());
    await at(NOW + 1, 'ann', all);
    await at(NOW + 1, 'bob', ['registered', 'owned']);
    const now = NOW + 5;
    const list = async (except: Partial<LeftOut> = {}, limit = 100) =>
      (await listDue(logouts, { now, limit, except: { ...EXCEPT, ...except } })).map(
        ({ ownerId, receiverId, uri }) => `${receiverId} ${ownerId} ${uri}`,
      );
    const ofPlatform = ['first-party', 'platform', 'verified'].map(
      (id) => `${id} undefined https://${id}.example/logout`,
    );
    const owned = 'owned dev https://owned.example/logout';
    const [anns, bobs] = ['ann', 'bob'].map((user) => `registered ${user} https://registered.example/logout`);
    const listed = await list();
    t.deepEqual(listed.slice(0, 3).toSorted(), ofPlatform);
    t.deepEqual(listed.slice(3, 5).toSorted(), [owned, anns]);
    t.deepEqual(listed.slice(5), [bobs]);
    t.deepEqual((await list({}, 3)).toSorted(), ofPlatform);
    t.deepEqual((await list({ owned: true })).toSorted(), ofPlatform);
    t.deepEqual(
      await list({ receiverIds: ['platform', 'verified', 'first-party', 'owned', 'x'], ownerIds: ['ann'] }),
      [bobs],
    );
    t.deepEqual(
      await list({ ownerIds: ['dev', 'ann', 'bob'], receiverIds: ['platform', 'verified'] }),
      ofPlatform.slice(0, 1),
    );

    // What was tried comes after what was not, of the same client and of others.
    const first = await logouts.take(
      'first',
      ['registered ann', 'owned ann'].map((id) => `${id} ${NOW}`),
      { now, leasedUntil: now + 9 },
    );
    t.deepEqual(first.map(({ ownerId }) => `${ownerId}`).toSorted(), ['ann', 'dev']);
    await logouts.finish(first, { answeredAt: now, dueAt: now, error: 'timeout' });
    const idsNow = async () =>
      idsOf((await listDue(logouts, { now })).filter(({ ownerId }) => ownerId !== undefined));
    t.deepEqual(
      (await idsNow()).toSorted(),
      [`owned ann ${NOW + 1}`, `registered ann ${NOW + 1}`, `registered bob ${NOW + 1}`].toSorted(),
    );
    await logouts.take('second', [`registered ann ${NOW + 1}`], { now, leasedUntil: now + 9 });
    t.is((await idsNow()).at(-1), `registered ann ${NOW}`);
  });

  test('logouts: an erasure takes the owner of an app out of those of other users, and leaves those of the owner to be told', async (t, logouts, storage) => {
    await storage.clients.insert(
      aClient({ id: 'told', ownerId: 'ann', backchannelLogoutUri: 'https://told.example/logout' }),
      [],
    );
    for (const userId of ['ann', 'bob']) {
      await signIn(storage, userId, { userId });
      await storage.revocations.revokeAllOf({ userId });
      await readEnds(storage, logouts);
    }
    await storage.userData.erase('ann', () => true);
    const owners = new Map((await listDue(logouts)).map(({ id, ownerId }) => [id, ownerId]));
    t.deepEqual([owners.size, owners.get('ann'), owners.get('bob')], [2, 'ann', ERASED_USER]);
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
    await storage.sessions.end('session-1');
    t.is(await redeem('c', 'uid-1'), 'gone');
    t.is(await redeem('d'), 'redeemed');
  });

  test('logouts: the latest of a client, and of each client of a user, the newest first; prune deletes them in time', async (t, logouts, storage) => {
    await addClients(storage);
    const signedOut = async (id: string, fields: Parameters<typeof signIn>[2], after: number) => {
      await signIn(storage, id, { sessionUid: id, ...fields });
      await storage.grants.revoke({ id }, NOW - 100 + after);
      await readEnds(storage, logouts);
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
    await storage.prune(NOW - 100 + 48 * HOUR + 2, 100);
    t.deepEqual([await latest('told'), await of('ann'), await of('bob')], ['2', ['3', '2'], []]);
    await storage.prune(NOW - 100 + 48 * HOUR + 3, 100);
    t.deepEqual([await latest('told'), await of('ann')], [undefined, ['3']]);
  });
}
