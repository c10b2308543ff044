import type { AuditEvent, AuditOrigin, AuditRecord } from '../../contracts.ts';
import { aClient, aRecord, aSecret, HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

const LATER = NOW + HOUR;

export function auditContract(test: StorageTest): void {
  test('audit: list gives back what was appended, newest first', async (t, { audit }) => {
    const records = EVENTS.map((event, index) => aRecord({ id: `${index}`, at: NOW * 1000 + index }, event));
    await audit.append(records, LATER);
    t.deepEqual(await audit.list({}), records.toReversed());
  });

  test('audit: members that are undefined are not there', async (t, { audit }) => {
    const refused = { type: 'token_refused', error: 'invalid_client', reason: 'unknown' } as const;
    await audit.append(
      [aRecord({ id: 'a' }, { ...refused, clientId: undefined, actorId: undefined })],
      LATER,
    );
    t.deepEqual(await audit.list({}), [aRecord({ id: 'a' }, refused)]);
  });

  test('audit: a record that is there stays as it is, and the others are added', async (t, { audit }) => {
    const [a, b, c] = [aRecord({ id: 'a' }), aRecord({ id: 'b' }), aRecord({ id: 'c' })];
    await audit.append([a, b], LATER);
    const other: AuditEvent = { type: 'logout', userId: 'bob' };
    await audit.append([aRecord({ id: 'b', at: 1 }, other), c, aRecord({ id: 'c' }, other)], LATER);
    t.deepEqual(await audit.list({}), [c, b, a]);
  });

  test('audit: append takes any number of records', async (t, { audit }) => {
    let id = 1000;
    for (const count of [0, 1, 3, 64, 255, 256, 257, 1000]) {
      const records = Array.from({ length: count }, () => aRecord({ id: `${(id += 1)}` }));
      await audit.append(records, LATER);
      t.deepEqual(await audit.list({ limit: count }), records.toReversed(), `${count}`);
    }
  });

  test('audit: nodes that append the same records at once, in any order, add each once', async (t, {
    audit,
  }) => {
    const records = Array.from({ length: 300 }, (_, index) => aRecord({ id: `${index + 1000}` }));
    const orders = [records, records.toReversed(), records.slice(100), records.slice(0, 100)];
    await Promise.all([...orders, ...orders].map(async (given) => audit.append(given, LATER)));
    t.deepEqual(await audit.list({ limit: 1000 }), records.toReversed());
  });

  test('audit: every character and any length comes back', async (t, { audit }) => {
    const record = aRecord(
      { id: 'a', at: 8_640_000_000_000_000 },
      {
        type: 'client_created',
        clientId: '🎒'.repeat(255),
        name: `'"\`\\ \0 “ü” 🎒 \u{D800} ${'x'.repeat(300_000)}`,
        actorId: 'y'.repeat(255),
        address: '2001:db8::1',
      },
    );
    const login = aRecord({ id: 'b'.repeat(255) }, { type: 'login', userId: '🎒'.repeat(255) });
    await audit.append([record, login], LATER);
    t.deepEqual(await audit.list({ clientId: '🎒'.repeat(255) }), [record]);
    t.deepEqual(await audit.list({ userId: '🎒'.repeat(255) }), [login]);
    t.deepEqual(await audit.list({ before: record }), [login]);
  });

  test('audit: the record of a client stays when the client is removed', async (t, { audit, clients }) => {
    await clients.insert(aClient(), [aSecret()]);
    const record = aRecord(
      { id: 'a' },
      { type: 'client_created', clientId: aClient().id, name: 'Timetable' },
    );
    await audit.append([record], LATER);
    await clients.remove(aClient().id);
    t.deepEqual(await audit.list({ clientId: aClient().id }), [record]);
  });

  test('audit: ids are taken exactly', async (t, { audit }) => {
    const consent = { type: 'consent_given', scopes: [] } as const;
    const stored = aRecord({ id: 'Id' }, { ...consent, userId: 'Id', clientId: 'Id' });
    await audit.append([stored], LATER);
    for (const id of LOOKALIKES) {
      t.deepEqual(await audit.list({ userId: id }), [], id);
      t.deepEqual(await audit.list({ clientId: id }), [], id);
    }
    await audit.append(
      LOOKALIKES.map((id) => aRecord({ id })),
      LATER,
    );
    t.is((await audit.list({})).length, LOOKALIKES.length + 1);
  });

  test('audit: what was found is a copy', async (t, { audit }) => {
    const scopes = ['schools:read'];
    const event: AuditEvent = { type: 'consent_given', userId: 'ann', clientId: 'timetable', scopes };
    await audit.append([aRecord({ id: 'a' }, event)], LATER);
    scopes.push('changed');
    for (const found of await audit.list({})) Object.assign(found, { userId: 'changed', scopes: [] });
    const kept: readonly AuditRecord[] = [aRecord({ id: 'a' }, { ...event, scopes: ['schools:read'] })];
    t.deepEqual(await audit.list({}), kept);
  });
}

/** One of each kind, with all that can be said about it. */
const EVENTS: readonly (AuditEvent & AuditOrigin)[] = [
  { type: 'token_issued', clientId: 'c', userId: 'ann', grantId: 'g', grantType: 'refresh_token' },
  {
    type: 'token_refused',
    clientId: 'c',
    userId: 'ann',
    grantType: 'password',
    error: 'unsupported_grant_type',
    reason: 'the client may use authorization_code',
    address: '192.0.2.1',
  },
  { type: 'authorization_refused', error: 'access_denied', reason: 'the user said no' },
  { type: 'login', userId: 'ann', clientId: 'c', address: '192.0.2.1' },
  { type: 'logout', userId: 'ann' },
  { type: 'login_failed', clientId: 'c', address: '192.0.2.1' },
  { type: 'consent_given', userId: 'ann', clientId: 'c', scopes: ['schools:read', 'schools:write'] },
  { type: 'consent_denied', userId: 'ann', clientId: 'c', scopes: [] },
  { type: 'consent_withdrawn', userId: 'ann', clientId: 'c', scopes: ['schools:read'] },
  { type: 'client_created', clientId: 'c', name: 'Timetable', actorId: 'ann' },
  { type: 'client_updated', clientId: 'c', fields: ['name', 'redirectUris'], actorId: 'ann' },
  { type: 'client_deleted', clientId: 'c', name: 'Timetable', actorId: 'ann' },
  { type: 'secret_added', clientId: 'c', secretId: 's', label: 'production, May', hint: 'x4f2' },
  { type: 'tokens_revoked', target: 'grant', clientId: 'c', userId: 'ann', grantId: 'g' },
  { type: 'tokens_revoked', target: 'token' },
  { type: 'assignment_changed', userId: 'ann', roles: ['registrar'], permissions: [] },
  { type: 'key_rotated', keyId: 'key-1' },
];
