import test from 'ava';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { AuditQuery } from '../../lib/contracts/index.ts';
import {
  aClient,
  aCode,
  aConsent,
  aDeviceCode,
  aGrant,
  anApproved,
  aKey,
  aPersonalToken,
  aRecord,
  aRefreshToken,
  aRequest,
  aRevokedToken,
  aSecret,
  aSession,
  NOW,
} from '../../lib/testing/storage/rows.ts';
import { temporaryFile } from './temporary-file.ts';

interface Connection {
  prepare(sql: string): unknown;
}

test('no statement reads a whole table', async (t) => {
  const prepared: string[] = [];
  const database = knex({
    client: 'better-sqlite3',
    connection: { filename: temporaryFile() },
    useNullAsDefault: true,
    pool: {
      afterCreate(connection: Connection, done: (error?: Error) => void) {
        const prepare = connection.prepare.bind(connection);
        connection.prepare = (sql) => {
          prepared.push(sql);
          return prepare(sql);
        };
        done();
      },
    },
  });
  t.teardown(async () => database.destroy());
  const storage = knexStorage(database);
  await storage.migrate();
  prepared.length = 0;

  const { id } = aClient();
  await storage.clients.insert(aClient(), [aSecret()]);
  await storage.clients.find(id);
  await storage.clients.update(aClient());
  await storage.clients.addSecret(id, aSecret({ id: 'second' }));
  await storage.clients.deleteSecret(id, 'second');
  await storage.clients.touchSecret(id, aSecret().id, NOW);
  await storage.clients.rehashSecret(id, aSecret().id, { from: 'a', to: 'b' });
  for (const query of [{}, { ownerId: 'ann' }, { search: 'app' }, { search: 'app', ownerId: 'ann' }]) {
    await storage.clients.list(query);
    await storage.clients.list({ ...query, after: id });
  }
  await storage.consents.add(aConsent());
  await storage.consents.add(aConsent({ scopes: ['schools:write'] }));
  await storage.consents.find('ann', id);
  await storage.consents.list('ann');
  await storage.consents.touch('ann', id, NOW);
  await storage.consents.delete('ann', id);
  await storage.grants.insert(aGrant(), aCode());
  const prerequisites = { consent: aConsent({ createdAt: 0 }), sessionId: aSession().id };
  for (const on of [
    prerequisites,
    { consent: prerequisites.consent },
    { sessionId: prerequisites.sessionId },
  ])
    await storage.grants.insert(aGrant(), aCode(), on);
  await storage.grants.findCredential('code', aCode().id);
  const successor = aRefreshToken({ expiresAt: NOW * 2 });
  await storage.grants.redeem(aCode(), { successor });
  await storage.grants.find(aGrant().id);
  await storage.grants.revoke({ id: aGrant().id }, NOW);
  await storage.grants.revoke({ userId: 'ann', clientId: id }, NOW);
  await storage.revocations.revokeToken(aRevokedToken());
  await storage.revocations.revokeAllOf({ userId: 'ann' });
  await storage.revocations.revokeAllOf({ clientId: id });
  await storage.revocations.revokeAllOf({ all: true });
  await storage.revocations.latestSequence();
  const token = { id: 'a', clientId: id, grant: { id: aGrant().id, userId: 'ann' }, sequence: 0 };
  await storage.revocations.isValid(token);
  await storage.revocations.isValid({ ...token, grant: undefined });
  await storage.sessions.insert(aSession());
  await storage.sessions.update(aSession());
  await storage.sessions.find(aSession().id);
  await storage.sessions.delete(aSession().id);
  await storage.sessions.deleteOfUser('ann');
  await storage.keys.insert(aKey());
  await storage.keys.list('token');
  await storage.keys.retire(aKey().id, NOW);
  await storage.keys.replaceMaterial(aKey().id, aKey().material, 'encrypted');
  await storage.assignments.save('ann', { roles: [], permissions: [] });
  await storage.assignments.find('ann');
  await storage.assignments.delete('ann');
  await storage.idempotency.begin(aRequest(), NOW);
  await storage.idempotency.begin(aRequest({ attempt: 'late' }), NOW);
  await storage.idempotency.extend(aRequest(), NOW);
  await storage.idempotency.finish(aRequest(), { status: 200, body: '' });
  await storage.idempotency.abandon(aRequest());
  const counters = [
    { id: 'a', limit: 1 },
    { id: 'b', limit: 1 },
  ];
  const window = { now: NOW, expiresAt: NOW + 60 };
  await storage.attempts.count(counters, window);
  await storage.attempts.count(counters, window);
  await storage.attempts.reserve(counters[0]!, { ...window, amount: 1 });
  await storage.attempts.release(['a'], ['b']);
  await storage.clients.redeemAssertion('a', NOW);
  await storage.deviceCodes.insert(aDeviceCode());
  await storage.deviceCodes.find(aDeviceCode().id);
  await storage.deviceCodes.findByUserCode(aDeviceCode().userCodeId);
  await storage.grants.list('ann', { now: NOW, limit: 10 });
  await storage.grants.touch(aGrant().id, NOW);
  await storage.deviceCodes.poll(aDeviceCode().id, { at: NOW, since: NOW });
  await storage.deviceCodes.approve(
    aGrant({ id: 'device' }),
    anApproved({ grantId: 'device' }),
    prerequisites,
    NOW,
  );
  await storage.deviceCodes.approve(aGrant({ id: 'device' }), anApproved({ grantId: 'device' }), {}, NOW);
  await storage.deviceCodes.deny(aDeviceCode().id, NOW);
  await storage.personalTokens.insert(aPersonalToken(), { limit: 3, now: NOW });
  await storage.personalTokens.findByHash('a');
  await storage.personalTokens.find('a');
  await storage.personalTokens.list('ann', NOW);
  await storage.personalTokens.recordUse(aPersonalToken().id, { at: NOW, address: '', network: '' });
  await storage.personalTokens.delete('a');
  await storage.passportUses.record([{ id: 'a', clientId: id, kind: 'user', at: NOW }]);
  await storage.passportUses.count(NOW);
  await storage.audit.append([aRecord({ id: 'a' }), aRecord({ id: 'b' })], NOW);
  for (const query of AUDIT_QUERIES) {
    await storage.audit.list(query);
    await storage.audit.list({ ...query, before: aRecord({ id: 'a' }) });
  }
  await storage.audit.countByDay({ clientId: id, type: 'token_issued', since: NOW, most: 100 });
  await storage.diagnose();
  await storage.prune(NOW, 100);
  await storage.clients.delete(id);

  const statements = prepared.filter((sql) => sql.includes('gatehouse_'));
  t.true(statements.length > 60);
  for (const sql of new Set(statements)) {
    const values = Array.from({ length: sql.split('?').length - 1 }, () => null);
    const plan: { detail: string }[] = await database.raw(`explain query plan ${sql}`, values);
    const scans = plan.filter(({ detail }) => SCAN.test(detail));
    t.deepEqual(
      scans.filter(({ detail }) => !isNewestPage(detail, sql)),
      [],
      sql,
    );
    // Audit records are read in the order of an index, not sorted; only a union of pages is, and the days of those that are counted.
    const isSorted = plan.some(({ detail }) => /TEMP B-TREE/.test(detail));
    t.false(sql.includes(' gatehouse_audit') && !/union all|count\(/.test(sql) && isSorted, sql);
    // So are pages of clients, and of their names.
    t.false(/ from gatehouse_client(s c|_names n)\n.* order by /s.test(sql) && isSorted, sql);
    // Without `revoked_at` in the index, a revocation would read all grants revoked before.
    if (/ gatehouse_grants (?:g\s+)?where user_id .*revoked_at is null/s.test(sql))
      t.regex(plan[0]!.detail, /user_id=\? AND revoked_at=\?/, sql);
    // An index on the client would read the records of all its users.
    if (/ gatehouse_audit where user_id/.test(sql)) t.regex(plan[0]!.detail, /gatehouse_audit_user_id_at_id/);
    // A later page begins in the middle of an index, not at its end.
    if (sql.includes(' id < '))
      t.true(
        plan.some(({ detail }) => detail.includes('at<?')),
        sql,
      );
  }
});

// Scans of rows that the statement itself made are allowed: they are few.
const SCAN = /^SCAN (?!CONSTANT|\d+-ROW VALUES|of_type_\d|found|given|wanted)/;

const AUDIT_QUERIES: readonly AuditQuery[] = [
  {},
  { clientId: 'timetable' },
  { userId: 'ann' },
  { types: ['login'] },
  { clientId: 'timetable', types: ['login'] },
  { clientId: 'timetable', types: ['login', 'logout'] },
  { clientId: 'timetable', userId: 'ann', types: ['login'] },
];

/** A scan of an index from its end, limited to a page. */
function isNewestPage(detail: string, sql: string): boolean {
  return detail === 'SCAN gatehouse_audit USING INDEX gatehouse_audit_at_id' && sql.includes('limit');
}
