import { setImmediate as nextTurn } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { knexDatabase } from '../../../adapters/knex/knex-database.ts';
import { createDatabase } from '../../../lib/database/create-database.ts';
import type { Value } from '../../../lib/database/statements.ts';
import { end } from '../../../lib/database/stores/revocations.ts';
import type { RevokedParty, Storage } from '../../../lib/contracts/index.ts';
import { aClient, aCode, aGrant, aRevokedToken, aSession, NOW } from '../../storage/rows.ts';
import { mariadb, onEachDatabase, postgresql, sqlite } from '../../adapters/databases.ts';
import type { TestDatabase } from '../../adapters/databases.ts';
import { openHost, openStorage, openTransaction, SOLE } from '../../adapters/host-knex.ts';
import { PATIENT } from '../../adapters/server-contract.ts';
import { watchedKnex } from '../../adapters/watched-knex.ts';

const IDS = Array.from({ length: 600 }, (_, index) => `grant ${index}`);
const OF_ANN = { userId: 'ann', clientId: 'timetable' };

async function withManyGrants(t: ExecutionContext, storage: Storage): Promise<Storage> {
  t.teardown(async () => storage.close());
  await storage.migrate();
  await storage.clients.insert(aClient({ id: 'timetable' }), []);
  const sequence = await storage.revocations.latestSequence();
  for (const id of IDS) await storage.grants.insert(aGrant({ id, sequence }), aCode({ id, grantId: id }));
  return storage;
}

/** The grants whose tokens or codes are accepted. */
async function usableGrants({ grants, revocations }: Storage): Promise<string[]> {
  const ids = await Promise.all(
    IDS.map(async (id) => {
      const token = { id, clientId: 'timetable', grant: { id, userId: 'ann' }, sequence: 0 };
      const found = (await grants.findCredential('code', id)) !== undefined;
      return found || (await revocations.isValid(token)) ? id : [];
    }),
  );
  return ids.flat();
}

/** How many other calls are answered before the given one. */
async function countAnswersDuring(storage: Storage, call: Promise<unknown>): Promise<number> {
  let count = 0;
  let isOver = false;
  const over = call.finally(() => {
    isOver = true;
  });
  for (;;) {
    await storage.grants.find('unknown');
    await nextTurn();
    if (isOver) break;
    count += 1;
  }
  await over;
  return count;
}

/** Ends Ann as the storage does, in a transaction that is still open. */
async function beginEnd(t: ExecutionContext, host: Knex): Promise<Knex.Transaction> {
  const transaction = await openTransaction(t, host);
  const run = async (sql: string, values: readonly Value[] = []): Promise<never> =>
    transaction.raw(sql, values as Knex.RawBinding[]) as unknown as Promise<never>;
  await end({ run, get: run, all: run }, createDatabase(knexDatabase(host, { shared: true }), 5000).dialect, {
    userId: 'ann',
  });
  return transaction;
}

onEachDatabase(
  'while a user is being ended, only the end of another user waits, and on MariaDB what the user begins',
  async (t, { client }, address) => {
    const storage = await withManyGrants(t, knexStorage(address, PATIENT));
    const other = openHost(t, client, address, SOLE);
    const { grants, revocations, sessions } = storage;
    const before = await revocations.latestSequence();
    const transaction = await beginEnd(t, other);

    t.is(await revocations.latestSequence(), before);
    t.is((await usableGrants(storage)).length, IDS.length);
    await revocations.revokeToken(aRevokedToken({ id: 'another' }));
    const begin = async (userId: string): Promise<boolean> => {
      const session = aSession({ id: userId, uid: userId, userId, sequence: before });
      await sessions.insert(session);
      const found = await sessions.find(userId);
      const grant = aGrant({ id: userId, userId, sequence: before });
      const code = aCode({ id: userId, grantId: userId });
      if (!(await grants.insert(grant, code, { sessionId: userId }))) return false;
      t.is(found?.sequence, before);
      t.true(await sessions.update(session));
      t.deepEqual(await grants.redeem(code, {}), { outcome: 'redeemed' });
      return true;
    };
    for (const userId of ['aaron', 'bob']) t.true(await begin(userId));
    const ofAnn = begin('ann');
    if (client === 'pg') t.true(await ofAnn);
    let isOpen = true;
    const ending = revocations.revokeAllOf({ userId: 'bob' }).finally(() => t.false(isOpen));
    t.deepEqual(await storage.grants.revoke({ id: IDS[0]! }, NOW), [IDS[0]]);

    isOpen = false;
    await transaction.commit();
    await ending;
    t.is(await ofAnn, client === 'pg');
    t.true((await revocations.latestSequence()) >= before + 2);
    // Everything above began with the sequence number before the end.
    t.deepEqual(await usableGrants(storage), []);
    t.is(await grants.findCredential('code', 'ann'), undefined);
    t.is(await sessions.find('ann'), undefined);
  },
  [postgresql, mariadb],
);

// SQLite runs a statement on the event loop's thread: one long statement would delay all other calls.
onEachDatabase(
  'while many grants are revoked, or their client is removed, other calls are answered',
  async (t, _database, address) => {
    const storage = await withManyGrants(t, knexStorage(address));
    t.true((await countAnswersDuring(storage, storage.grants.revoke(OF_ANN, NOW))) > 0);
    t.true((await countAnswersDuring(storage, storage.clients.delete('timetable'))) > 0);
  },
  [sqlite],
);

/** A storage whose connections fail after a number of statements, or of those of a text, until it is set again. */
function openFailing(
  t: ExecutionContext,
  client: TestDatabase['client'],
  address: string,
): {
  readonly host: Knex;
  readonly storage: Storage;
  readonly failAfter: (statements: number, text?: string) => void;
} {
  let left = Infinity;
  let counted = '';
  const host = watchedKnex(client, address, (sql) => {
    if (sql.includes(counted)) left -= 1;
    if (left < 0) throw new Error('the connection is lost');
  });
  t.teardown(async () => host.destroy());
  return {
    host,
    storage: knexStorage(host, PATIENT),
    failAfter: (statements, text = '') => {
      left = statements;
      counted = text;
    },
  };
}

onEachDatabase(
  'an interrupted revocation is completed by revoking again',
  async (t, { client }, address) => {
    const { storage, failAfter } = openFailing(t, client, address);
    await withManyGrants(t, storage);
    const before = await storage.revocations.latestSequence();
    for (const party of [{ userId: 'ann' }, { clientId: 'timetable' }] satisfies RevokedParty[]) {
      for (let statements = 0; statements < 4; statements += 1) {
        failAfter(statements);
        await t.throwsAsync(storage.revocations.revokeAllOf(party), { code: 'ERR_STORAGE' });
        failAfter(Infinity);
        t.is(await storage.revocations.latestSequence(), before, 'nothing was changed');
      }
    }
    t.is((await usableGrants(storage)).length, IDS.length);

    failAfter(9);
    await t.throwsAsync(storage.grants.revoke(OF_ANN, NOW), { code: 'ERR_STORAGE' });
    failAfter(Infinity);
    const usable = await usableGrants(storage);
    t.true(usable.length > 0 && usable.length < IDS.length, `${usable.length}`);
    t.deepEqual((await storage.grants.revoke(OF_ANN, NOW)).toSorted(), usable.toSorted());
    t.deepEqual(await usableGrants(storage), []);
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'an interrupted removal of a client leaves no usable grant, and removing it again deletes the rest',
  async (t, { client }, address) => {
    const { host, storage, failAfter } = openFailing(t, client, address);
    await withManyGrants(t, storage);
    const count = async (): Promise<number> => (await host('gatehouse_grants').select('id')).length;
    // In the middle of the batches.
    failAfter(1, 'delete from gatehouse_grants');
    await t.throwsAsync(storage.clients.delete('timetable'), { code: 'ERR_STORAGE' });
    failAfter(Infinity);
    t.is(await storage.clients.find('timetable'), undefined);
    const left = await count();
    t.true(left > 0 && left < IDS.length, `${left}`);
    t.deepEqual(await usableGrants(storage), []);
    await storage.clients.insert(aClient({ id: 'timetable' }), []);
    t.deepEqual(await usableGrants(storage), [], 'nor for a new client with this id');
    t.true(await storage.clients.delete('timetable'));
    t.is(await count(), 0);
    t.false(await storage.clients.delete('timetable'));
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'a session in which a user has signed in 16,000 times ends at once, and so do the grants',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address);
    const host = openHost(t, client, address, SOLE);
    await storage.clients.insert(
      aClient({ id: 'timetable', backchannelLogoutUri: 'https://a.example/bye' }),
      [],
    );
    const session = aSession({ userId: 'ann' });
    await storage.sessions.insert(session);
    const rows = Array.from({ length: 16_000 }, (_, index) => ({
      id: `grant ${index}`,
      user_id: 'ann',
      client_id: 'timetable',
      session_uid: session.uid,
      scopes: '[]',
      sequence: 0,
      created_at: NOW,
      expires_at: NOW + 60,
      needed_until: NOW + 60,
    }));
    for (let start = 0; start < rows.length; start += 250)
      await host('gatehouse_grants').insert(rows.slice(start, start + 250));
    // On PostgreSQL it took more than the five seconds that a statement of the storage may take.
    await storage.ends.read('test', ['sign_in'], Number.MAX_SAFE_INTEGER);
    await storage.sessions.end(session.id);
    const later = { now: Number.MAX_SAFE_INTEGER - 1, leasedUntil: Number.MAX_SAFE_INTEGER, limit: 10 };
    t.is((await storage.ends.take('test', later)).length, 1);
    t.is(await countOf(host, { session_uid: session.uid }), 0);
    const { result, took } = await timed(async () => storage.grants.revoke(OF_ANN, NOW));
    t.is(result.length, 16_000);
    t.true(took < 8000, `${took} ms`);
  },
);

async function countOf(host: Knex, where: object): Promise<number> {
  const [row] = await host('gatehouse_grants').where(where).count({ count: '*' });
  return Number(row?.['count']);
}

async function timed<T>(run: () => Promise<T>): Promise<{ result: T; took: number }> {
  const startedAt = performance.now();
  return { result: await run(), took: performance.now() - startedAt };
}
