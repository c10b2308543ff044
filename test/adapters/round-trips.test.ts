import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aRecord,
  aRefreshToken,
  aRequest,
  aRevokedToken,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from '../../lib/testing/storage/rows.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import { watchedKnex } from './watched-knex.ts';

const TOKEN = { id: 'a', clientId: 'timetable', grant: { id: 'b', userId: 'ann' }, sequence: 0 };
const WINDOW = { now: NOW, expiresAt: NOW + HOUR };

const COUNTERS = ['pair', 'network', 'address', 'account'].map((id) => ({ id, limit: 2 }));
const MANY = Array.from({ length: 200 }, (_, index) => aRecord({ id: `${index}` }));

// Where PostgreSQL needs one query, MariaDB needs a compound statement, or a transaction, whose BEGIN and COMMIT count.
const OPERATIONS: readonly {
  name: string;
  run: (storage: Storage) => Promise<unknown>;
  statements: { pg: number; mysql2: number };
}[] = [
  {
    name: 'start a grant',
    run: async ({ grants }) => grants.insert(aGrant(), aCode()),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'start a grant on a consent',
    run: async ({ grants }) =>
      grants.insert(aGrant({ id: '2' }), aCode({ id: '2', grantId: '2' }), { consent: aConsent() }),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'begin a session',
    run: async ({ sessions }) => sessions.insert(aSession()),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'find it, and the sequence number',
    run: async ({ sessions }) => sessions.find(aSession().id),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'change it',
    run: async ({ sessions }) => sessions.update(aSession({ expiresAt: NOW })),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'start a grant on a session and a consent',
    run: async ({ grants }) =>
      grants.insert(aGrant({ id: '3' }), aCode({ id: '3', grantId: '3' }), {
        consent: aConsent(),
        sessionId: aSession().id,
      }),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'find a code',
    run: async ({ grants }) => grants.findCredential('code', aCode().id),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'redeem it for a successor',
    run: async ({ grants }) =>
      grants.redeem(aCode(), { successor: aRefreshToken({ expiresAt: NOW + 100 * HOUR }) }),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'redeem it again',
    run: async ({ grants }) => grants.redeem(aCode(), {}),
    statements: { pg: 2, mysql2: 2 },
  },
  {
    name: 'find a client with its secrets',
    run: async ({ clients }) => clients.find(aClient().id),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'find a grant',
    run: async ({ grants }) => grants.find(aGrant().id),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: "ask whether a user's token stands",
    run: async ({ revocations }) => revocations.isValid(TOKEN),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: "ask whether a client's token stands",
    run: async ({ revocations }) => revocations.isValid({ ...TOKEN, grant: undefined }),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'read the sequence number',
    run: async ({ revocations }) => revocations.latestSequence(),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'revoke a token',
    run: async ({ revocations }) => revocations.revokeToken(aRevokedToken()),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'revoke a grant',
    run: async ({ grants }) => grants.revoke({ id: aGrant().id }, NOW),
    statements: { pg: 4, mysql2: 4 },
  },
  {
    name: 'revoke it again',
    run: async ({ grants }) => grants.revoke({ id: aGrant().id }, NOW),
    // PostgreSQL may have a synchronous standby, which has to have the first revocation.
    statements: { pg: 4, mysql2: 3 },
  },
  {
    name: 'end a user',
    run: async ({ revocations }) => revocations.revokeAllOf({ userId: 'ann' }),
    statements: { pg: 4, mysql2: 4 },
  },
  {
    name: 'end a client',
    run: async ({ revocations }) => revocations.revokeAllOf({ clientId: 'timetable' }),
    statements: { pg: 4, mysql2: 4 },
  },
  {
    name: 'begin a request',
    run: async ({ idempotency }) => idempotency.begin(aRequest(), NOW),
    // MariaDB reports the same count for an inserted row and an unchanged one.
    statements: { pg: 1, mysql2: 2 },
  },
  {
    name: 'begin it again',
    run: async ({ idempotency }) => idempotency.begin(aRequest({ attempt: 'late' }), NOW),
    // It changes nothing, so PostgreSQL also waits until what the first has stored lasts.
    statements: { pg: 3, mysql2: 2 },
  },
  {
    name: 'take it over',
    run: async ({ idempotency }) => idempotency.begin(aRequest({ attempt: 'second' }), NOW + HOUR),
    statements: { pg: 1, mysql2: 2 },
  },
  {
    name: 'extend its lease',
    run: async ({ idempotency }) => idempotency.extend(aRequest({ attempt: 'second' }), NOW),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'finish it',
    run: async ({ idempotency }) =>
      idempotency.finish(aRequest({ attempt: 'second' }), { status: 200, body: '{}' }),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'count a first attempt in several counters',
    run: async ({ attempts }) => attempts.count(COUNTERS, WINDOW),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'count another',
    run: async ({ attempts }) => attempts.count(COUNTERS, WINDOW),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'refuse one',
    run: async ({ attempts }) => attempts.count(COUNTERS, WINDOW),
    statements: { pg: 2, mysql2: 2 },
  },
  {
    name: 'give one back in some, and reset others',
    run: async ({ attempts }) => attempts.release(['network', 'address'], ['pair']),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'spend an assertion',
    run: async ({ clients }) => clients.redeemAssertion('a', NOW + HOUR),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'take several attempts for the first time',
    run: async ({ attempts }) => attempts.reserve({ id: 'b', limit: 9 }, { ...WINDOW, amount: 4 }),
    statements: { pg: 1, mysql2: 3 },
  },
  {
    name: 'take several more',
    run: async ({ attempts }) => attempts.reserve({ id: 'b', limit: 9 }, { ...WINDOW, amount: 4 }),
    statements: { pg: 1, mysql2: 2 },
  },
  {
    name: 'take the last ones',
    run: async ({ attempts }) => attempts.reserve({ id: 'b', limit: 9 }, { ...WINDOW, amount: 4 }),
    statements: { pg: 3, mysql2: 5 },
  },
  {
    name: "append a second's audit records",
    run: async ({ audit }) => audit.append(MANY, NOW + HOUR),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'list audit records',
    run: async ({ audit }) =>
      audit.list({ clientId: 'timetable', types: ['login', 'logout'], before: MANY[0] }),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'find an assignment',
    run: async ({ assignments }) => assignments.find('ann'),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'record the use of a consent',
    run: async ({ consents }) => consents.touch('ann', 'timetable', NOW),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'add a consent',
    run: async ({ consents }) => consents.add(aConsent({ userId: 'bob' })),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'add scopes to a consent',
    run: async ({ consents }) => consents.add(aConsent({ userId: 'bob', scopes: ['schools:write'] })),
    // PostgreSQL also waits until the consent lasts that is stored already.
    statements: { pg: 7, mysql2: 6 },
  },
  {
    name: 'a transaction of the host',
    run: async (storage) => storage.transaction(async () => {}),
    statements: { pg: 2, mysql2: 2 },
  },
  {
    name: 'state',
    run: async (storage) => storage.state(),
    statements: { pg: 1, mysql2: 1 },
  },
  {
    name: 'diagnose',
    run: async (storage) => storage.diagnose(),
    // MariaDB has a cache of its own, which is another query.
    statements: { pg: 1, mysql2: 2 },
  },
];

onEachDatabase(
  'each operation takes the expected number of statements',
  async (t, { client }, address) => {
    const sent: string[] = [];
    const host = watchedKnex(client, address, (sql) => {
      sent.push(sql);
    });
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host);
    await storage.migrate();
    await storage.clients.insert(aClient(), [aSecret()]);
    await storage.consents.add(aConsent());
    for (const { name, run, statements: expected } of OPERATIONS) {
      sent.length = 0;
      await run(storage);
      t.is(sent.length, client === 'pg' ? expected.pg : expected.mysql2, name);
      // Logos are read to be served, and for nothing else.
      t.deepEqual(
        sent.filter((sql) => sql.includes('logo_image')),
        [],
        name,
      );
    }
  },
  [postgresql, mariadb],
);
