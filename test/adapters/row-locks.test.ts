// What each lock of a row is for: two transactions at once, one of which is stopped when it has decided and not yet written.
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { aClient, aCode, aConsent, aGrant, aRefreshToken, aSession, HOUR, NOW } from '../storage/rows.ts';
import { aRegistered, registrationsOf } from '../agents/store-contract.ts';
import { aDeviceCode, anApproved, deviceCodesOf } from '../devices/store-contract.ts';
import { aPersonalToken, personalTokensOf } from '../personal-tokens/store-contract.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import { openHost, openTransaction } from './host-knex.ts';
import { untilEndedOrBlocked } from './lock-waits.ts';
import { PATIENT } from './server-contract.ts';
import { pausableKnex } from './watched-knex.ts';
import type { PausableKnex } from './watched-knex.ts';

const isolation = 'transaction isolation level';

/** What a host sends on each of its connections. */
const SETTINGS = [
  [postgresql, `set session characteristics as ${isolation} read committed`],
  [postgresql, `set session characteristics as ${isolation} repeatable read`],
  [postgresql, `set session characteristics as ${isolation} serializable`],
  [mariadb, `set session ${isolation} repeatable read`],
  [mariadb, `set session ${isolation} read committed`],
  [mariadb, 'set session innodb_snapshot_isolation = on'],
] as const;

interface Nodes {
  /** Its statements can be paused. */
  readonly first: Storage;
  readonly second: Storage;
  /** Another program on the same database. */
  readonly other: Knex;
  readonly pause: PausableKnex['pause'];
}

function onServers(title: string, run: (t: ExecutionContext, nodes: Nodes) => Promise<void>): void {
  for (const [database, setting] of SETTINGS) {
    onEachDatabase(
      `${setting}: ${title}`,
      async (t, { client }, address) => {
        const { host, pause } = pausableKnex(client, address, setting);
        const second = pausableKnex(client, address, setting).host;
        t.teardown(async () => Promise.all([host.destroy(), second.destroy()]));
        const nodes = { first: knexStorage(host, PATIENT), second: knexStorage(second, PATIENT) };
        await nodes.first.migrate();
        await run(t, { ...nodes, pause, other: openHost(t, client, address, { min: 0, max: 2 }) });
      },
      [database],
    );
  }
}

/** Begins a transaction that has inserted a row: a statement that inserts one with the same key stops until it ends. */
async function hold(
  t: ExecutionContext,
  other: Knex,
  table: string,
  row: Readonly<Record<string, unknown>>,
): Promise<Knex.Transaction> {
  const transaction = await openTransaction(t, other);
  await transaction(table).insert(row);
  return transaction;
}

// Before the code in the order of the primary key, in which an erasure looks for credentials.
const SUCCESSOR = aRefreshToken({ id: 'a' });

/** Stops a redemption that stores {@link SUCCESSOR}. */
const holdSuccessor = async (t: ExecutionContext, other: Knex): Promise<Knex.Transaction> =>
  hold(t, other, 'gatehouse_credentials', {
    id: SUCCESSOR.id,
    kind: SUCCESSOR.kind,
    grant_id: 'another',
    payload: '{}',
    expires_at: NOW + HOUR,
  });

/** Stops an insert of {@link aGrant}. */
const holdGrant = async (t: ExecutionContext, other: Knex): Promise<Knex.Transaction> =>
  hold(t, other, 'gatehouse_grants', {
    id: aGrant().id,
    user_id: 'another',
    client_id: 'another',
    scopes: '[]',
    created_at: NOW,
    expires_at: NOW + HOUR,
    needed_until: NOW + HOUR,
    sequence: 0,
  });

/** Registers a client that is to be removed, unless it is used. */
async function register(storage: Storage, clientId: string): Promise<void> {
  const places = { limit: 5, perUser: 2, unusedSince: 0, now: NOW };
  const registrations = await registrationsOf(storage);
  await registrations.insert(aRegistered(clientId, { removableAt: NOW - 1, unusedAfter: HOUR }), places);
}

onServers('a grant whose code is being redeemed is not pruned', async (t, { first, second, other }) => {
  await first.grants.insert(aGrant({ expiresAt: NOW - 1 }), aCode({ expiresAt: NOW - 1 }));
  const holding = await holdSuccessor(t, other);
  const redeeming = first.grants.redeem(aCode(), { successor: SUCCESSOR });
  await untilEndedOrBlocked(other, redeeming);
  await second.prune(NOW, 100);
  await holding.rollback();
  t.deepEqual(await redeeming, { outcome: 'redeemed' });
  const found = await first.grants.findCredential('refresh_token', SUCCESSOR.id);
  t.is(found?.grant.id, aGrant().id);
});

onServers('an erasure removes what a redemption under way stores', async (t, { first, second, other }) => {
  await first.grants.insert(aGrant(), aCode());
  const holding = await holdSuccessor(t, other);
  const redeeming = first.grants.redeem(aCode(), { successor: SUCCESSOR });
  await untilEndedOrBlocked(other, redeeming);
  const erasing = second.userData.erase('ann', () => true);
  await untilEndedOrBlocked(other, erasing, 2);
  await holding.rollback();
  t.deepEqual(await redeeming, { outcome: 'redeemed' });
  await erasing;
  t.deepEqual(await other('gatehouse_credentials'), []);
});

onServers('a grant is revoked by one of two calls', async (t, { first, second, other, pause }) => {
  await first.grants.insert(aGrant(), aCode());
  const { reached, resume } = pause(/update gatehouse_grants/);
  const revoking = first.grants.revoke({ id: aGrant().id }, NOW);
  await reached;
  const another = second.grants.revoke({ id: aGrant().id }, NOW);
  await untilEndedOrBlocked(other, another);
  resume();
  t.deepEqual([...(await revoking), ...(await another)], [aGrant().id]);
});

onServers(
  'a client is told once when a session and its grant end at once',
  async (t, { first, second, other, pause }) => {
    await signIn(first);
    await first.grants.insert(aGrant({ clientId: aClient().id, sessionUid: aSession().uid }), aCode());
    const { reached, resume } = pause(/into gatehouse_ends/);
    const ending = first.sessions.end(aSession().id);
    await reached;
    const revoking = second.grants.revoke({ id: aGrant().id }, NOW);
    await untilEndedOrBlocked(other, revoking);
    resume();
    await ending;
    t.deepEqual(await revoking, [aGrant().id]);
    t.is((await other('gatehouse_ends')).length, 1);
  },
);

async function signIn(storage: Storage): Promise<void> {
  await storage.ends.read('test', ['sign_in', 'grant'], Number.MAX_SAFE_INTEGER);
  await storage.clients.insert(aClient({ backchannelLogoutUri: 'https://told.example/' }), []);
  await storage.sessions.insert(aSession());
}

onServers(
  'a client that is signed in at while the session ends is told of its end',
  async (t, { first, second, other }) => {
    await signIn(first);
    const holding = await holdGrant(t, other);
    const signingIn = first.grants.insert(
      aGrant({ clientId: aClient().id, sessionUid: aSession().uid }),
      aCode(),
      { sessionId: aSession().id },
    );
    await untilEndedOrBlocked(other, signingIn);
    const ending = second.sessions.end(aSession().id);
    await untilEndedOrBlocked(other, ending, 2);
    await holding.rollback();
    t.true(await signingIn);
    await ending;
    t.is((await other('gatehouse_ends')).length, 1);
    t.is((await first.grants.find(aGrant().id))?.sessionUid, undefined);
  },
);

/** The ways in which a grant is started. */
const STARTS: Readonly<Record<string, (storage: Storage) => Promise<boolean>>> = {
  'a grant that is started': async ({ grants }) => grants.insert(aGrant(), aCode(), { consent: aConsent() }),
  'a grant of a device that is approved': async (storage) => {
    const deviceCodes = await deviceCodesOf(storage);
    await deviceCodes.insert(aDeviceCode());
    return deviceCodes.approve(aGrant(), anApproved(), { consent: aConsent() }, NOW);
  },
};

for (const [what, start] of Object.entries(STARTS)) {
  onServers(`${what} while its consent is deleted is revoked`, async (t, { first, second, other }) => {
    await first.consents.add(aConsent());
    const holding = await holdGrant(t, other);
    const starting = start(first);
    await untilEndedOrBlocked(other, starting);
    const { clientId, userId } = aConsent();
    const withdrawing = (async () => {
      await second.consents.delete(userId, clientId);
      return second.grants.revoke({ userId, clientId }, NOW);
    })();
    await untilEndedOrBlocked(other, withdrawing, 2);
    await holding.rollback();
    t.true(await starting);
    t.deepEqual(await withdrawing, [aGrant().id]);
  });
}

onServers(
  'a client with a grant that is started beside its removal is kept',
  async (t, { first, second, other }) => {
    await register(first, 'a');
    const consent = aConsent({ clientId: 'a', createdAt: NOW - 2 * HOUR, updatedAt: NOW - 2 * HOUR });
    await first.consents.add(consent);
    const holding = await holdGrant(t, other);
    const starting = first.grants.insert(
      aGrant({ clientId: 'a', expiresAt: NOW + HOUR }),
      aCode({ expiresAt: NOW + HOUR }),
      { consent },
    );
    await untilEndedOrBlocked(other, starting);
    const removing = (await registrationsOf(second)).deleteUnused(NOW, 10);
    await untilEndedOrBlocked(other, removing, 2);
    await holding.rollback();
    t.true(await starting);
    t.deepEqual(await removing, { deleted: [], seen: 1 });
    t.is((await first.clients.find('a'))?.client.id, 'a');
    t.is((await first.consents.find('ann', 'a'))?.clientId, 'a');
  },
);

onServers(
  'a client that is disabled beside its removal is kept, or the call finds none',
  async (t, { first, second, other, pause }) => {
    await register(first, 'a');
    const { reached, resume } = pause(/from gatehouse_consents/);
    const removing = (await registrationsOf(first)).deleteUnused(NOW, 10);
    await reached;
    const disabling = second.clients.update({ ...aRegistered('a').client, disabled: true });
    await untilEndedOrBlocked(other, disabling);
    resume();
    const { deleted } = await removing;
    t.is(await disabling, deleted.length === 0);
  },
);

onServers(
  'uses of a personal access token from two networks at once are both kept',
  async (t, { first, second, other, pause }) => {
    const token = aPersonalToken();
    await (await personalTokensOf(first)).insert(token, { limit: 1, now: NOW });
    const use = async (storage: Storage, network: string) =>
      (await personalTokensOf(storage)).recordUse(token.id, { at: NOW, address: network, network });
    const { reached, resume } = pause(/update gatehouse_personal_tokens/);
    const using = use(first, '192.0.2.0/24');
    await reached;
    const another = use(second, '198.51.100.0/24');
    await untilEndedOrBlocked(other, another);
    resume();
    t.deepEqual([await using, await another], [true, true]);
    t.false(await use(first, '192.0.2.0/24'));
    t.false(await use(first, '198.51.100.0/24'));
  },
);

onServers(
  'consents for two redirect hosts at once are both kept',
  async (t, { first, second, other, pause }) => {
    await first.consents.add(aConsent({ scopes: ['a'], hosts: {} }));
    const { reached, resume } = pause(/update gatehouse_consents set scopes/);
    const adding = first.consents.add(aConsent({ scopes: ['b'], hosts: { 'https://b.example': ['b'] } }));
    await reached;
    const another = second.consents.add(aConsent({ scopes: ['c'], hosts: { 'https://c.example': ['c'] } }));
    await untilEndedOrBlocked(other, another);
    resume();
    await Promise.all([adding, another]);
    t.deepEqual(await first.consents.list('ann'), [
      aConsent({
        scopes: ['a', 'b', 'c'],
        hosts: { 'https://b.example': ['b'], 'https://c.example': ['c'] },
      }),
    ]);
  },
);

async function addConsents({ consents }: Storage): Promise<void> {
  const users = Array.from({ length: 450 }, (_, index) => `user ${index}`);
  await Promise.all(users.map(async (userId) => consents.add(aConsent({ userId }))));
}

/** Deletes the first consents in the order in which they are found, more than a batch of them. */
async function deleteMany(other: Knex): Promise<void> {
  const found: string[] = await other('gatehouse_consents').limit(400).pluck('user_id');
  await other('gatehouse_consents').whereIn('user_id', found).delete();
}

onServers(
  'all consents are deleted also while another program is deleting many of them',
  async (t, { first, other }) => {
    await addConsents(first);
    const transaction = await openTransaction(t, other);
    await deleteMany(transaction);
    const deleting = first.consents.deleteAll();
    await untilEndedOrBlocked(other, deleting);
    await transaction.commit();
    t.is(await deleting, 50);
    t.deepEqual(await other('gatehouse_consents'), []);
  },
);

onServers(
  'all consents are deleted also when another program has just deleted many of them',
  async (t, { first, other, pause }) => {
    await addConsents(first);
    const { reached, resume } = pause(/delete from gatehouse_consents/);
    const deleting = first.consents.deleteAll();
    await reached;
    await deleteMany(other);
    resume();
    t.is(await deleting, 50);
    t.deepEqual(await other('gatehouse_consents'), []);
  },
);

onServers(
  'a client whose last grant is pruned beside its removal is removed',
  async (t, { first, second, other, pause }) => {
    await register(first, 'a');
    const past = NOW - 2 * HOUR;
    await first.grants.insert(
      aGrant({ clientId: 'a', createdAt: past, expiresAt: past }),
      aCode({ expiresAt: past }),
    );
    const { reached, resume } = pause(/select id from gatehouse_grants/);
    const removing = (await registrationsOf(first)).deleteUnused(NOW, 10);
    await reached;
    t.is(await second.prune(NOW, 10), 2);
    resume();
    t.deepEqual((await removing).deleted, [{ id: 'a', name: aClient().name }]);
    t.deepEqual(await other('gatehouse_registrations').where({ client_id: 'a' }), []);
  },
);
