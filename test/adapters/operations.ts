// The operations of a storage, and rows for them, so many that reading more of them than needed shows.
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { TABLES } from '../../lib/database/tables.ts';
import type { AuditQuery, ClientQuery, End, Storage } from '../../lib/contracts/index.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aKey,
  aRecord,
  aRefreshToken,
  aRequest,
  aRevokedToken,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from '../storage/rows.ts';
import { registrationsOf } from '../agents/store-contract.ts';
import { aDeviceCode, anApproved, deviceCodesOf } from '../devices/store-contract.ts';
import { logoutsOf } from '../openid/logouts-of.ts';
import { passportOf } from '../laravel-passport/store-contract.ts';
import { aPersonalToken, personalTokensOf } from '../personal-tokens/store-contract.ts';
import { aPushedRequest, pushedRequestsOf } from '../pushed-requests/store-contract.ts';
import { allowedGrantsOf, aUse, beginning } from '../trusted-issuers/store-contract.ts';
import { countedKnex } from './counted-knex.ts';
import type { TestDatabase } from './databases.ts';

const ID = 'of 3';

// The number of the latest end of a user or a client.
const LATEST = 1_000_000;

/** A query with the columns `i`, a text, and `n`, a number, from `first` to `last`. */
export const SERIES: Readonly<Record<TestDatabase['client'], (first: number, last: number) => string>> = {
  'better-sqlite3': (first, last) => `(
    with recursive s (n) as (select ${first} union all select n + 1 from s where n < ${last})
    select cast(n as text) as i, n from s) s`,
  pg: (first, last) => `(select cast(i as varchar) as i, i as n from generate_series(${first}, ${last}) i) s`,
  mysql2: (first, last) => `(select cast(seq as char) as i, seq as n from seq_${first}_to_${last}) s`,
};

/** The tables that grow with users and requests. Each row is another user's; all use one popular client. */
export const BIG_TABLES: readonly string[] = TABLES.map(({ name }) => name).filter(
  (name) => name !== 'gatehouse_keys' && name !== 'gatehouse_end_readers',
);

const OWNER = `case when n % 2 = 0 then 'ann' else 'bob' end`;

/** Inserts rows into each of {@link BIG_TABLES}, with the numbers from `first` to `last` in their keys. */
export async function fill(
  host: Knex,
  client: TestDatabase['client'],
  first: number,
  last: number,
): Promise<void> {
  const series = SERIES[client](first, last);
  for (const sql of [
    `gatehouse_allowed_grants (id, issuer, user_id, client_id, grant_id, access, created_at)
      select concat('of ', i), 'https://idp.example', concat('of ', i), '${ID}', concat('of ', i), '{}', 0 from ${series}`,
    `gatehouse_assertions (id, expires_at) select concat('of ', i), ${NOW} + n from ${series}`,
    `gatehouse_assignments (user_id, roles, permissions) select concat('of ', i), '[]', '[]' from ${series}`,
    `gatehouse_attempts (id, attempts, expires_at) select concat('of ', i), 1, ${NOW} + n from ${series}`,
    `gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at)
      select concat('of ', i), ${NOW} + n, 'login', '${ID}', concat('of ', i), '{}', ${NOW} + n from ${series}`,
    `gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at)
      select concat('busy ', i), ${NOW} + n, 'login', 'of 4', 'busy', '{}', ${NOW} + n from ${series}`,
    `gatehouse_clients (id, name, sort_name, owner_id, grant_type, redirect_uris, post_logout_redirect_uris, verified,
        source, lifetimes, confidential, native, first_party, roles, permissions, disabled, created_at, updated_at)
      select concat('of ', i), 'App', 'app', ${OWNER}, 'authorization_code', '[]', '[]', 0,
        'manual', '{}', 1, 0, 0, '[]', '[]', 0, 0, 0 from ${series}`,
    `gatehouse_client_names (client_id, beginning, owner_id) select concat('of ', i), 'app', ${OWNER} from ${series}`,
    `gatehouse_client_secrets (client_id, id, hash, label, hint, created_at)
      select concat('of ', i), '1', 'hash', '', '', 0 from ${series}`,
    `gatehouse_consents (user_id, client_id, scopes, hosts, created_at, updated_at)
      select concat('of ', i), '${ID}', '[]', '{}', ${NOW}, 0 from ${series}`,
    `gatehouse_credentials (id, kind, grant_id, payload, expires_at)
      select concat('of ', i), 'code', concat('of ', i), '{}', 9999999999 from ${series}`,
    `gatehouse_device_codes (id, user_code, client_id, payload, created_at, expires_at, kept_until, sequence)
      select concat('of ', i), concat('of ', i), '${ID}', '{}', 0, 9999999999, 9999999999, ${LATEST} from ${series}`,
    `gatehouse_ends (id, reader, kind, value, user_id, client_id, session_uid, ended_by, ended_at, due_at)
      select concat('of ', i), 'openid', 'grant', concat('of ', i), concat('of ', i), concat('of ', i), 's', 'owner', ${NOW} + n,
        ${NOW} + n % 4 from ${series}`,
    `gatehouse_grants (id, user_id, client_id, scopes, created_at, expires_at, needed_until, sequence)
      select concat('of ', i), concat('of ', i), '${ID}', '[]', 0, ${NOW} - n, ${NOW} - n, ${LATEST} from ${series}`,
    `gatehouse_idempotency (id, fingerprint, attempt, leased_until, expires_at)
      select concat('of ', i), 'f', 'a', ${NOW} + n, ${NOW} + n from ${series}`,
    `gatehouse_logouts (id, client_id, user_id, session_uid, created_at, due_at, attempts, expires_at)
      select concat('of ', i), concat('of ', i), concat('of ', i), 's', ${NOW}, ${NOW} + n, 0, ${NOW} + n from ${series}`,
    `gatehouse_passport_uses (id, client_id, kind, expires_at)
      select concat('of ', i), '${ID}', 'user', ${NOW} + n from ${series}`,
    `gatehouse_passport_marks (id, expires_at) select concat('of ', i), ${NOW} + n from ${series}`,
    `gatehouse_personal_tokens (user_id, place, id, hash, name, created_at, expires_at, sequence)
      select concat('of ', i), 0, concat('of ', i), concat('of ', i), '', 0, 9999999999, ${LATEST} from ${series}`,
    `gatehouse_pushed_requests (id, parameters, expires_at, kept_until)
      select concat('of ', i), '{}', 9999999999, 9999999999 from ${series}`,
    `gatehouse_registrations (client_id, token_hash, auth_method, removable_at, unused_after, network)
      select concat('of ', i), '', '', ${NOW} + n, 0, '' from ${series}`,
    `gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
      select case when n % 3 = 0 then 'user' when n % 3 = 1 then 'client' else 'token' end, concat('of ', i), n, 9999999999,
        case when n % 3 = 2 then null else n end from ${series}`,
    `gatehouse_used_assertions (id, digest, sequence, used_at, expires_at)
      select concat('of ', i), '', 0, 0, ${NOW} + n from ${series}`,
    `gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence, last_used_at)
      select concat('of ', i), concat('of ', i), concat('of ', i), '{}', 9999999999, ${LATEST}, 0 from ${series}`,
  ])
    await host.raw(`insert into ${sql}`);
  await host('gatehouse_revocations').where({ kind: 'sequence', value: '' }).update({ sequence: LATEST });
}

const TOKEN = { id: ID, clientId: ID, grant: { id: ID, userId: ID }, sequence: LATEST };
const CONSENT = aConsent({ userId: ID, clientId: ID });
const PREREQUISITES = { consent: CONSENT, sessionId: ID };
const COUNTERS = ['a', ID, 'of 4'].map((id) => ({ id, limit: 5 }));
const WINDOW = { now: NOW, expiresAt: NOW + HOUR };
const REQUEST = aRequest({ id: ID, attempt: 'a', fingerprint: 'f' });

const ENDED: End = {
  id: 'of 1',
  kind: 'grant',
  value: 'of 1',
  userId: 'of 1',
  clientId: 'of 1',
  sessionUid: 's',
  by: 'owner',
  at: NOW + 1,
  attempt: 'a',
};

const APP_LISTS: readonly ClientQuery[] = [
  {},
  { ownerId: 'bob' },
  { search: 'app' },
  { search: 'app', ownerId: 'ann' },
  { search: 'nothing' },
  { search: 'of 8' },
];
const AUDIT_LISTS: readonly AuditQuery[] = [
  {},
  { clientId: ID },
  { userId: ID },
  { types: ['login'] },
  { clientId: ID, types: ['login'] },
  { clientId: ID, types: ['login', 'logout'] },
  { clientId: ID, userId: ID, types: ['login'] },
  { userId: 'busy', types: ['tool_called', 'logout'] },
];

type Operation = (storage: Storage) => Promise<unknown>;

/** Operations of requests. They find the rows of {@link fill}, each others than the one before has removed. */
const REQUESTS: Readonly<Record<string, Operation>> = {
  'a reader of ends': async ({ ends }) =>
    ends.read('openid', ['sign_in', 'grant', 'user', 'client', 'all'], Number.MAX_SAFE_INTEGER),
  "whether a user's token stands": async ({ revocations }) => revocations.isValid(TOKEN),
  "whether a client's token stands": async ({ revocations }) =>
    revocations.isValid({ ...TOKEN, grant: undefined }),
  'the revocation of a token': async ({ revocations }) => revocations.revokeToken(aRevokedToken()),
  'the number of the latest end': async ({ revocations }) => revocations.latestSequence(),
  'the end of a user': async ({ revocations }) => revocations.revokeAllOf({ userId: 'of 6' }),
  'the end of a client': async ({ revocations }) => revocations.revokeAllOf({ clientId: 'of 4' }),
  'a client': async ({ clients }) => clients.find(ID),
  'a logo': async ({ clients }) => clients.findLogo(ID, 'hash'),
  'the last use of a secret': async ({ clients }) => clients.touchSecret(ID, '1', NOW),
  'a registration': async (storage) => (await registrationsOf(storage)).find(ID),
  'a new session': async ({ sessions }) => sessions.insert(aSession({ id: 'new' })),
  'a session': async ({ sessions }) => sessions.find(ID),
  'the sessions of a user': async ({ userData }) => userData.sessions(ID, { now: NOW, limit: 5 }),
  'a session with a consent': async ({ sessions }) => sessions.find(ID, ID),
  'a change of a session': async ({ sessions }) => sessions.update(aSession({ id: ID })),
  'the end of a session': async ({ sessions }) => sessions.delete('of 1'),
  'the end of a session of which apps are told': async ({ sessions }) => sessions.end('of 6'),
  'the end of all sessions of a user but one': async ({ sessions }) => sessions.endOthers('of 8', '', NOW),
  'the end of a user of which apps are told': async ({ revocations }) =>
    revocations.revokeAllOf({ userId: 'of 7' }),
  'logouts that are due': async (storage) =>
    logoutsOf(storage).listDue({
      now: NOW + 2,
      limit: 5,
      except: { receiverIds: ['of 1'], ownerIds: ['of 2'], owned: false },
    }),
  'logouts that apps have to be told of': async (storage) =>
    logoutsOf(storage).take('a', ['of 1'], { now: NOW + 2, leasedUntil: NOW + 15 }),
  'an answer of an app': async (storage) =>
    logoutsOf(storage).finish([{ id: 'of 1', attempt: 'a' }], {
      answeredAt: NOW,
      dueAt: undefined,
      error: undefined,
    }),
  'the latest logout at an app': async (storage) => logoutsOf(storage).findLatest(ID),
  'the latest logouts of a user': async (storage) => logoutsOf(storage).listLatest(ID),
  'the end of the sessions of a user': async ({ sessions }) => sessions.deleteOfUser('of 2'),
  'a consent': async ({ consents }) => consents.find(ID, ID),
  'a consent again': async ({ consents }) => consents.add(CONSENT),
  'the last use of a consent': async ({ consents }) => consents.touch(ID, ID, NOW),
  'a consent to an app that registered itself': async (storage) =>
    (await registrationsOf(storage)).addConsent(aConsent({ userId: 'new', clientId: ID })),
  'the consents of a user': async ({ consents }) => consents.list(ID),
  'the end of a consent': async ({ consents }) => consents.delete('of 1', ID),
  'a grant': async ({ grants }) => grants.find(ID),
  'a grant without prerequisites': async ({ grants }) =>
    grants.insert(aGrant({ id: 'new' }), aCode({ id: 'new', grantId: 'new' })),
  'a grant on a session': async ({ grants }) =>
    grants.insert(aGrant({ id: 'new 2' }), aCode({ id: 'new 2' }), { sessionId: ID }),
  'a grant on a session and a consent': async ({ grants }) =>
    grants.insert(aGrant({ id: 'new 3' }), aCode({ id: 'new 3' }), PREREQUISITES),
  'a grant that spends a row': async ({ grants }) =>
    grants.insert(aGrant({ id: 'new 5' }), aCode({ id: 'new 5' }), {
      ...PREREQUISITES,
      spends: { table: 'gatehouse_assertions', id: 'of 5' },
    }),
  'a code': async ({ grants }) => grants.findCredential('code', ID),
  'a redemption': async ({ grants }) =>
    grants.redeem(aCode({ id: ID }), { successor: aRefreshToken({ id: 'next', grantId: ID }) }),
  'a redemption that comes second': async ({ grants }) =>
    grants.redeem(aCode({ id: ID }), { neededUntil: NOW }),
  'a refresh token with those that followed it': async ({ grants }) => grants.findChain('next', 32),
  'the revocation of a grant': async ({ grants }) => grants.revoke({ id: 'of 1' }, NOW),
  'the revocation of the grants of a user': async ({ grants }) =>
    grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW),
  'attempts that are counted': async ({ attempts }) => attempts.count(COUNTERS, WINDOW),
  'an attempt that is too many': async ({ attempts }) =>
    attempts.count(
      COUNTERS.map(({ id }) => ({ id, limit: 1 })),
      WINDOW,
    ),
  'requests that are counted': async ({ attempts }) =>
    attempts.reserve({ id: 'of 5', limit: 9 }, { ...WINDOW, amount: 2 }),
  'attempts that are given back': async ({ attempts }) => attempts.release(['a', 'of 4'], [ID]),
  'an assertion': async ({ clients }) => clients.redeemAssertion('new', NOW),
  'an idempotent request': async ({ idempotency }) => idempotency.begin(aRequest(), NOW),
  'an idempotent request again': async ({ idempotency }) =>
    idempotency.begin({ ...REQUEST, attempt: 'b' }, NOW),
  'a longer idempotent request': async ({ idempotency }) => idempotency.extend(REQUEST, NOW + HOUR),
  'the end of an idempotent request': async ({ idempotency }) =>
    idempotency.finish(REQUEST, { status: 200, body: '' }),
  'an abandoned idempotent request': async ({ idempotency }) => idempotency.abandon(aRequest()),
  'a new device code': async (storage) => (await deviceCodesOf(storage)).insert(aDeviceCode()),
  'a device code': async (storage) => (await deviceCodesOf(storage)).find(ID),
  'a user code': async (storage) => (await deviceCodesOf(storage)).findByUserCode(ID),
  'a poll of a device': async (storage) => (await deviceCodesOf(storage)).poll(ID, { at: NOW, since: NOW }),
  'an approval of a device': async (storage) =>
    (await deviceCodesOf(storage)).approve(
      aGrant({ id: 'new 4' }),
      anApproved({ id: ID }),
      PREREQUISITES,
      NOW,
    ),
  'a refusal of a device': async (storage) => (await deviceCodesOf(storage)).deny('of 4', NOW),
  'a new pushed request': async (storage) => (await pushedRequestsOf(storage)).insert(aPushedRequest()),
  'a pushed request': async (storage) => (await pushedRequestsOf(storage)).find(ID),
  'a new grant that an issuer allows': async (storage) =>
    (await allowedGrantsOf(storage)).begin(...beginning('new allowed', { sequence: LATEST })),
  'a grant that an issuer has allowed': async (storage) => (await allowedGrantsOf(storage)).find(ID),
  'more scopes of a grant that an issuer has allowed': async (storage) =>
    (await allowedGrantsOf(storage)).widen(ID, {}, { '': ['a'] }),
  'a use of an assertion': async (storage) => (await allowedGrantsOf(storage)).use(aUse()),
  'another use of an assertion': async (storage) => (await allowedGrantsOf(storage)).findUse(ID),
  'a new personal token': async (storage) =>
    (await personalTokensOf(storage)).insert(aPersonalToken(), { limit: 3, now: NOW }),
  'a personal token': async (storage) => (await personalTokensOf(storage)).findByHash(ID),
  'a use of a personal token': async (storage) =>
    (await personalTokensOf(storage)).recordUse(ID, { at: NOW, address: '', network: '' }),
  'uses of tokens of Passport': async (storage) =>
    (await passportOf(storage)).record(
      [ID, 'new'].map((id) => ({ id, clientId: ID, kind: 'user', at: NOW })),
    ),
  'a disconnection of a client of Passport': async (storage) =>
    (await passportOf(storage)).hasEnded({ userId: ID, clientId: ID, sequence: LATEST, mark: ID }),
  'a claim at Passport': async (storage) => (await passportOf(storage)).isMarked(ID),
  'a mark of a token of Passport': async (storage) => (await passportOf(storage)).mark('new', NOW),
  'the end of a personal token': async (storage) => (await personalTokensOf(storage)).delete('of 4'),
  'an assignment': async ({ assignments }) => assignments.find(ID),
  'a change of an assignment': async ({ assignments }) =>
    assignments.save(ID, { roles: [], permissions: [] }),
  'an audit record': async ({ audit }) => audit.append([aRecord({ id: 'new' })], NOW),
};

/** Operations of jobs, of administrators and of their lists. */
const OTHERS: Readonly<Record<string, Operation>> = {
  'ends that a reader takes': async ({ ends }) =>
    ends.take('openid', { now: NOW + 2, leasedUntil: NOW + 60, limit: 2 }),
  'ends that are done': async ({ ends }) => ends.done([{ id: 'of 5' }]),
  'ends that a reader gives back': async ({ ends }) => ends.release([{ id: 'of 6', attempt: 'a' }], NOW + 10),
  'the logouts of an end': async (storage) => logoutsOf(storage).add([ENDED]),
  'the logouts of the end of a user': async (storage) =>
    logoutsOf(storage).add([{ ...ENDED, id: 'of 2', kind: 'user', value: 'of 2' }]),
  'the logouts of the end of a client': async (storage) =>
    logoutsOf(storage).add([{ ...ENDED, id: 'of 7', kind: 'client', value: 'of 7' }]),
  'an app': async ({ clients }) => clients.insert(aClient({ id: 'new' }), []),
  'a change of an app': async ({ clients }) => clients.update(aClient({ id: ID, ownerId: 'bob' })),
  'a new logo': async ({ clients }) =>
    clients.updateLogo(aClient({ id: ID, ownerId: 'bob', logoHash: 'hash' }), new Uint8Array([1])),
  'a new secret': async ({ clients }) => clients.addSecret(ID, aSecret({ id: 'second' })),
  'a secret that expires': async ({ clients }) => clients.expireSecret(ID, 'second', NOW),
  'the end of a secret': async ({ clients }) => clients.deleteSecret(ID, 'second'),
  'another hash of a secret': async ({ clients }) => clients.rehashSecret(ID, '1', { from: 'a', to: 'b' }),
  ...Object.fromEntries(
    APP_LISTS.flatMap((query) =>
      [query, { ...query, after: 'of 9' }].map((page): [string, Operation] => [
        `apps: ${JSON.stringify(page)}`,
        async ({ clients }) => clients.list({ ...page, limit: 3 }),
      ]),
    ),
  ),
  ...Object.fromEntries(
    AUDIT_LISTS.flatMap((query) =>
      [query, { ...query, after: { ...aRecord({ id: ID }), at: (NOW + 15_000) / 1000 } }].map(
        (page): [string, Operation] => [
          `audit records: ${JSON.stringify(page)}`,
          async ({ audit }) => audit.list({ ...page, limit: 3 }),
        ],
      ),
    ),
  ),
  'audit records by day': async ({ audit }) =>
    audit.countByDay({ clientId: ID, type: 'login', since: NOW / 1000, most: 3 }),
  'the end of unused grants': async ({ grants }) =>
    grants.endUnused({ userId: ID, clientId: ID, kept: ID }, 200, NOW),
  'the last use of a grant': async ({ grants }) => grants.touch(ID, NOW),
  'the grants of a user': async ({ grants }) => grants.list(ID, { now: NOW, limit: 3 }),
  'the personal tokens of a user': async (storage) => (await personalTokensOf(storage)).list(ID, NOW),
  'the grants that issuers have allowed a user': async (storage) => (await allowedGrantsOf(storage)).list(ID),
  'an end that is forgotten of what an issuer has allowed': async (storage) =>
    (await allowedGrantsOf(storage)).forget('of 4', ID),
  'a personal token by its id': async (storage) => (await personalTokensOf(storage)).find(ID),
  'a key': async ({ keys }) => keys.insert(aKey()),
  keys: async ({ keys }) => keys.list('token'),
  'the end of a key': async ({ keys }) => keys.retire(aKey().id, NOW),
  'a key that is encrypted': async ({ keys }) =>
    keys.replaceMaterial(aKey().id, aKey().material, 'encrypted'),
  'the end of a registration token': async (storage) => (await registrationsOf(storage)).removeToken(ID),
  'unused apps': async (storage) => (await registrationsOf(storage)).deleteUnused(NOW + 3, 2),
  'the end of an assignment': async ({ assignments }) => assignments.delete(ID),
  'a diagnosis': async (storage) => storage.diagnose(),
  'expired rows': async (storage) => storage.prune(NOW, 3),
  'the removal of an app': async ({ clients }) => clients.delete('of 8'),
  'the end of all': async ({ revocations }) => revocations.revokeAllOf({ all: true }),
};

export const OPERATIONS: Readonly<Record<string, Operation>> = { ...REQUESTS, ...OTHERS };

/** Methods that read many rows, which is what they are for, with the reason. */
export const READ_MUCH: Readonly<Record<string, string>> = {
  'consents.deleteAll': 'deletes all, in batches',
  'ends.onWritten': 'asks no database',
  'passport.count': 'counts the uses of a week, for a command',
  'registrations.insert': 'counts the registrations, of which there are no more than the places',
  'userData.read': 'reads tables without an index that leads to the user, in pages',
  'userData.erase': 'reads tables without an index that leads to the user, in pages',
};

/** The statements about tables of the storage in one that the driver gets, which may be a compound statement of MariaDB. */
function partsOf(sql: string): readonly string[] {
  const parts = sql.startsWith('begin not atomic') ? sql.split(';\n') : [sql];
  return parts
    .filter((part) => part.includes('gatehouse_'))
    .map((part) => part.replace(/^if \w+\(\) > 0 then\n/, ''));
}

/** A statement as the driver gets it. */
export interface Sent {
  readonly operation: string;
  readonly isOfRequest: boolean;
  readonly sql: string;
  readonly values: readonly unknown[];
}

/**
 * Migrates, runs each operation on few rows, and removes those.
 *
 * @returns the statements about tables of the storage, and how many each request has sent, with those of its transaction
 */
export async function sendAll(
  client: TestDatabase['client'],
  address: string,
): Promise<{ readonly sent: readonly Sent[]; readonly counts: ReadonlyMap<string, number> }> {
  const sent: Sent[] = [];
  const counts = new Map(Object.keys(REQUESTS).map((name) => [name, 0]));
  let operation: string | undefined;
  const host = countedKnex(client, address, (sql, values) => {
    if (operation === undefined) return;
    const count = counts.get(operation);
    if (count !== undefined) counts.set(operation, count + 1);
    for (const part of partsOf(sql))
      sent.push({ operation, isOfRequest: operation in REQUESTS, sql: part, values });
  });
  try {
    const storage = knexStorage(host);
    await storage.migrate();
    await fill(host, client, 1, 9);
    for (const [name, run] of Object.entries(OPERATIONS)) {
      operation = name;
      await run(storage);
    }
    operation = undefined;
    for (const table of BIG_TABLES) {
      await host(table)
        .modify((rows) => table === 'gatehouse_revocations' && void rows.whereNot('kind', 'sequence'))
        .delete();
    }
    return { sent, counts };
  } finally {
    await host.destroy();
  }
}
