import type {
  AuditDayQuery,
  AuditEvent,
  AuditEventType,
  AuditOrigin,
  AuditQuery,
  AuditRecord,
  AuditStore,
} from '../../lib/contracts/index.ts';
import { aClient, aRecord, aSecret, HOUR, LOOKALIKES, NOW } from './rows.ts';
import { testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

const LATER = NOW + HOUR;

export function auditContract(register: StorageTest): void {
  const test = testsOf(register, 'audit');

  test('audit: list returns the appended records of every type, newest first', async (t, audit) => {
    const records = EVENTS.map((event, index) => aRecord({ id: `${index}`, at: NOW + index / 1000 }, event));
    await audit.append(records, LATER);
    t.deepEqual(await audit.list({ limit: records.length }), records.toReversed());
  });

  test('audit: members that are undefined are left out of the stored record', async (t, audit) => {
    const refused = { type: 'token_refused', error: 'invalid_client', reason: 'unknown' } as const;
    await audit.append(
      [aRecord({ id: 'a' }, { ...refused, clientId: undefined, actorId: undefined })],
      LATER,
    );
    t.deepEqual(await audit.list({}), [aRecord({ id: 'a' }, refused)]);
  });

  test('audit: append skips records whose id is stored already, and adds the others', async (t, audit) => {
    const [a, b, c] = [aRecord({ id: 'a' }), aRecord({ id: 'b' }), aRecord({ id: 'c' })];
    await audit.append([a, b], LATER);
    const other: AuditEvent = { type: 'logout', userId: 'bob' };
    await audit.append([aRecord({ id: 'b', at: 1 }, other), c, aRecord({ id: 'c' }, other)], LATER);
    t.deepEqual(await audit.list({}), [c, b, a]);
  });

  test('audit: append stores any number of records, from none to a thousand', async (t, audit) => {
    let id = 1000;
    for (const count of [0, 1, 3, 64, 255, 256, 257, 1000]) {
      const records = Array.from({ length: count }, () => aRecord({ id: `${(id += 1)}` }));
      await audit.append(records, LATER);
      t.deepEqual(await audit.list({ limit: count }), records.toReversed(), `${count}`);
    }
  });

  test('audit: appending the same records several times at once, in any order, stores each once', async (t, audit) => {
    const records = Array.from({ length: 300 }, (_, index) => aRecord({ id: `${index + 1000}` }));
    const orders = [records, records.toReversed(), records.slice(100), records.slice(0, 100)];
    await Promise.all([...orders, ...orders].map(async (given) => audit.append(given, LATER)));
    t.deepEqual(await audit.list({ limit: 1000 }), records.toReversed());
  });

  test('audit: stores every character, ids of 255 characters and names of any length', async (t, audit) => {
    const record = aRecord(
      { id: 'a', at: 8_640_000_000_000 },
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
    t.deepEqual(await audit.list({ after: record }), [login]);
  });

  test('audit: the records of a client are not deleted with the client', async (t, audit, storage) => {
    await storage.clients.insert(aClient(), [aSecret()]);
    const record = aRecord(
      { id: 'a' },
      { type: 'client_created', clientId: aClient().id, name: 'Timetable' },
    );
    await audit.append([record], LATER);
    await storage.clients.delete(aClient().id);
    t.deepEqual(await audit.list({ clientId: aClient().id }), [record]);
  });

  test('audit: ids are compared exactly', async (t, audit) => {
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

  test('audit: changing an appended or returned record does not change the stored one', async (t, audit) => {
    const scopes = ['schools:read'];
    const event: AuditEvent = { type: 'consent_given', userId: 'ann', clientId: 'timetable', scopes };
    await audit.append([aRecord({ id: 'a' }, event)], LATER);
    scopes.push('changed');
    for (const found of await audit.list({})) Object.assign(found, { userId: 'changed', scopes: [] });
    const kept: readonly AuditRecord[] = [aRecord({ id: 'a' }, { ...event, scopes: ['schools:read'] })];
    t.deepEqual(await audit.list({}), kept);
  });
}

/** An event of a type, with all of its members. */
type Sample<T extends AuditEventType> = Required<AuditEvent & { readonly type: T }> & AuditOrigin;

const consent = { userId: 'ann', clientId: 'c', resource: 'https://library.example/' } as const;
const app = { clientId: 'c', name: 'Timetable', actorId: 'ann' } as const;
const secret = {
  clientId: 'c',
  secretId: 's',
  label: 'production, May',
  hint: 'x4f2',
  actorId: 'ann',
} as const;
const device = {
  ...consent,
  scopes: ['schools:read'],
  deviceAddress: '192.0.2.2',
  address: '192.0.2.1',
} as const;
const token = { userId: 'ann', tokenId: 't', name: 'Nightly import' } as const;
const refusal = {
  clientId: 'c',
  userId: 'ann',
  grantType: 'password',
  error: 'unsupported_grant_type',
  reason: 'the client may use authorization_code',
  address: '192.0.2.1',
} as const;
const tool = {
  clientId: 'c',
  tokenId: 't',
  userId: 'ann',
  tool: 'rename_school',
  action: 'school/rename-school-action',
  objectId: '17',
  error: 'school_not_found',
  resource: 'https://platform.example/mcp',
} as const;

const SAMPLES: { readonly [T in AuditEventType]: Sample<T> } = {
  token_issued: {
    type: 'token_issued',
    clientId: 'c',
    userId: 'ann',
    grantId: 'g',
    grantType: 'refresh_token',
    resource: 'https://library.example/',
    server: 'passport',
  },
  refresh_token_reused: {
    type: 'refresh_token_reused',
    clientId: 'c',
    userId: 'ann',
    grantId: 'g',
    resource: 'https://library.example/',
    generations: 3,
  },
  token_refused: { type: 'token_refused', ...refusal },
  authorization_refused: { type: 'authorization_refused', ...refusal },
  login: { type: 'login', userId: 'ann', clientId: 'c', address: '192.0.2.1' },
  login_failed: { type: 'login_failed', clientId: 'c', address: '192.0.2.1' },
  login_throttled: { type: 'login_throttled', address: '192.0.2.1' },
  logout: { type: 'logout', userId: 'ann', clientId: 'c' },
  consent_given: { type: 'consent_given', ...consent, scopes: ['schools:read', 'schools:write'] },
  consent_denied: { type: 'consent_denied', ...consent, scopes: [] },
  consent_withdrawn: { type: 'consent_withdrawn', ...consent, scopes: ['schools:read'] },
  user_erased: { type: 'user_erased' },
  client_created: { type: 'client_created', ...app, source: 'dynamic' },
  client_updated: {
    type: 'client_updated',
    clientId: 'c',
    fields: ['name', 'redirectUris'],
    actorId: 'ann',
  },
  client_disabled: { type: 'client_disabled', ...app },
  client_enabled: { type: 'client_enabled', ...app },
  client_withdrawn: { type: 'client_withdrawn', ...app },
  client_deleted: { type: 'client_deleted', ...app },
  secret_added: { type: 'secret_added', ...secret },
  secret_deleted: { type: 'secret_deleted', ...secret },
  tokens_revoked: { type: 'tokens_revoked', target: 'grant', clientId: 'c', userId: 'ann', grantId: 'g' },
  assignment_changed: { type: 'assignment_changed', userId: 'ann', roles: ['registrar'], permissions: [] },
  tool_called: { type: 'tool_called', ...tool },
  tool_read: { type: 'tool_read', ...tool },
  key_rotated: { type: 'key_rotated', keyId: 'key-1' },
  key_revoked: { type: 'key_revoked', keyId: 'key-1' },
  device_authorized: { type: 'device_authorized', ...device },
  device_denied: { type: 'device_denied', ...device },
  user_code_refused: { type: 'user_code_refused', userId: 'ann' },
  user_code_throttled: { type: 'user_code_throttled', userId: 'ann' },
  authorization_pushed: { type: 'authorization_pushed', clientId: 'c' },
  assertion_accepted: {
    type: 'assertion_accepted',
    clientId: 'c',
    userId: 'ann',
    issuer: 'https://idp.example',
    subject: 'ä 🎒',
    actor: 'agent-7',
    isRepeated: true,
  },
  app_allowed_again: { type: 'app_allowed_again', userId: 'ann', clientId: 'c' },
  passport_token_used: { type: 'passport_token_used', clientId: 'c', kind: 'user' },
  logout_undelivered: { type: 'logout_undelivered', userId: 'ann', clientId: 'c', error: 'timeout' },
  personal_token_created: {
    type: 'personal_token_created',
    ...token,
    resource: 'https://library.example/',
    scopes: ['schools:read'],
    permissions: ['view_schools'],
    expiresAt: NOW,
  },
  personal_token_used: { type: 'personal_token_used', ...token },
  personal_token_revoked: { type: 'personal_token_revoked', ...token },
  logout_told: { type: 'logout_told', clientId: 'c', attempt: 3, error: 'timeout', isLast: true, seconds: 5 },
};

/** Events of every type, and some without members that may be absent. */
const EVENTS: readonly (AuditEvent & AuditOrigin)[] = [
  ...Object.values(SAMPLES),
  { type: 'logout', userId: 'ann' },
  { type: 'authorization_refused', error: 'access_denied', reason: 'the user said no' },
  { type: 'tokens_revoked', target: 'token' },
];

export function auditPageContract(register: StorageTest): void {
  const test = testsOf(register, 'audit');

  test('audit: pages contain each record once, also when many records have the same time', async (t, audit) => {
    const records = await appendMany(audit);
    const queries: AuditQuery[] = [
      {},
      { clientId: 'timetable' },
      { userId: 'ann' },
      { types: ['login'] },
      { types: ['login', 'logout', 'consent_given'], clientId: 'timetable' },
      { clientId: 'timetable', userId: 'bob', types: ['consent_given', 'logout'] },
    ];
    for (const query of queries) {
      const expected = records.filter((record) => matches(record, query));
      for (const limit of [1, 7, 1000]) {
        t.deepEqual(
          await allPages(audit, { ...query, limit }),
          expected,
          JSON.stringify({ ...query, limit }),
        );
      }
    }
  });

  test('audit: a page continues after the record in "after", also after inserts and deletions', async (t, audit, storage) => {
    const [oldest, middle, newest] = [1, 2, 3].map((at) => aRecord({ id: `${at}`, at }));
    await audit.append([oldest!, middle!], LATER);
    await audit.append([newest!], NOW - 1);
    const [last] = await audit.list({ limit: 1 });
    t.deepEqual(last, newest);
    await storage.prune(NOW, 100);
    await audit.append([aRecord({ id: '4', at: 4 })], LATER);
    t.deepEqual(await audit.list({ after: last }), [middle, oldest]);
  });

  test('audit: list returns fifty records when no limit is given', async (t, audit) => {
    await audit.append(
      Array.from({ length: 51 }, (_, index) => aRecord({ id: `${index}` })),
      LATER,
    );
    t.is((await audit.list({})).length, 50);
    t.is((await audit.list({ limit: 51 })).length, 51);
  });

  test('audit: countByDay counts the newest records of a client and a type on each day in UTC', async (t, audit) => {
    const day = Date.UTC(2025, 5, 15) / 1000;
    const issued = { type: 'token_issued', clientId: 'Id', grantType: 'refresh_token' } as const;
    const times = [day - 0.001, day, day + 0.001, day + 24 * HOUR - 0.001, day + 24 * HOUR, day + 96 * HOUR];
    const records = times.map((at, index) => aRecord({ id: `${index}`, at }, issued));
    const others = ['id', 'Íd'].map((clientId) =>
      aRecord({ id: clientId, at: day }, { ...issued, clientId }),
    );
    const refused = {
      type: 'token_refused',
      clientId: 'Id',
      error: 'invalid_client',
      reason: 'unknown',
    } as const;
    await audit.append([...records, ...others, aRecord({ id: 'refused', at: day }, refused)], LATER);
    const count = async (query: Partial<AuditDayQuery>): Promise<readonly (readonly number[])[]> =>
      (await audit.countByDay({ clientId: 'Id', type: 'token_issued', since: 0, most: 100, ...query })).map(
        (found) => [(found.day - day) / (24 * HOUR), found.count],
      );
    const all = [
      [4, 1],
      [1, 1],
      [0, 3],
      [-1, 1],
    ];
    t.deepEqual(await count({}), all);
    t.deepEqual(await count({ since: day }), all.slice(0, 3));
    t.deepEqual(await count({ since: day + 0.001, most: 3 }), [
      [4, 1],
      [1, 1],
      [0, 1],
    ]);
    t.deepEqual(await count({ type: 'token_refused' }), [[0, 1]]);
    for (const clientId of ['unknown', '', 'Id\0', 'x'.repeat(100_000)])
      t.deepEqual(await count({ clientId }), []);
  });

  test('audit: list returns nothing for an empty list of types', async (t, audit) => {
    await audit.append([aRecord({ id: 'a' })], LATER);
    t.deepEqual(await audit.list({ types: [] }), []);
  });

  test('audit: a type that is named twice in a query selects each record once', async (t, audit) => {
    const records = [aRecord({ id: 'b' }), aRecord({ id: 'a' })];
    await audit.append(records, LATER);
    t.deepEqual(await audit.list({ types: ['login', 'logout', 'login'], limit: 2 }), records);
    t.deepEqual(await audit.list({ types: ['login', 'login'], userId: 'ann', limit: 2 }), records);
  });

  test('audit: list returns nothing, and does not fail, for malformed ids and times', async (t, audit) => {
    await audit.append([aRecord({ id: 'a', at: 5 }, SOME_EVENTS[0])], LATER);
    for (const id of ['', '%', "' or 1=1 --", 'timetable\0', '\u{D800}', 'x'.repeat(100_000)]) {
      t.deepEqual(await audit.list({ clientId: id }), [], id.slice(0, 20));
      t.deepEqual(await audit.list({ userId: id }), [], id.slice(0, 20));
      t.deepEqual(await audit.list({ after: { id, at: 0 } }), [], id.slice(0, 20));
    }
    for (const at of [NaN, -Infinity, -(2 ** 70), 1.5]) {
      t.deepEqual(await audit.list({ after: { id: 'b', at } }), [], `${at}`);
    }
  });
}

const SOME_EVENTS: readonly AuditEvent[] = [
  { type: 'consent_given', clientId: 'timetable', userId: 'ann', scopes: [] },
  { type: 'login', clientId: 'timetable', userId: 'bob' },
  { type: 'logout', userId: 'ann' },
  { type: 'login', clientId: 'library', userId: 'ann' },
  { type: 'consent_given', clientId: 'timetable', userId: 'bob', scopes: [] },
];

/** Appends many records of three different times, unordered. Resolves to them in the order of `list()`. */
async function appendMany(audit: AuditStore): Promise<AuditRecord[]> {
  const records = Array.from({ length: 120 }, (_, index) =>
    aRecord(
      { id: `${index + 100}`, at: NOW + (index % 3) / 1000 },
      SOME_EVENTS[(index * 7) % SOME_EVENTS.length],
    ),
  );
  await audit.append(records, LATER);
  return records.toSorted((a, b) => b.at - a.at || Number(b.id) - Number(a.id));
}

async function allPages(audit: AuditStore, query: AuditQuery): Promise<AuditRecord[]> {
  const read: AuditRecord[] = [];
  for (;;) {
    const page = await audit.list({ ...query, after: read.at(-1) });
    if (page.length === 0) return read;
    read.push(...page);
  }
}

function matches(record: AuditRecord, { clientId, userId, types }: AuditQuery): boolean {
  const { clientId: ofClient, userId: ofUser } = { clientId: undefined, userId: undefined, ...record };
  return (
    (clientId ?? ofClient) === ofClient &&
    (userId ?? ofUser) === ofUser &&
    (types ?? [record.type]).includes(record.type)
  );
}
