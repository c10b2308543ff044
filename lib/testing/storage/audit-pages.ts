import type { AuditEvent, AuditQuery, AuditRecord, AuditStore } from '../../contracts.ts';
import { aRecord, HOUR, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

const LATER = NOW + HOUR;

export function auditPageContract(test: StorageTest): void {
  test('audit: pages have no gaps and nothing twice, also when many records are of one millisecond', async (t, {
    audit,
  }) => {
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
      const expected = records.filter((record) => isAsked(record, query));
      for (const limit of [1, 7, 1000]) {
        t.deepEqual(
          await allPages(audit, { ...query, limit }),
          expected,
          JSON.stringify({ ...query, limit }),
        );
      }
    }
  });

  test('audit: a page goes on where the one before ended, whatever was added or removed since', async (t, storage) => {
    const { audit } = storage;
    const [oldest, middle, newest] = [1, 2, 3].map((at) => aRecord({ id: `${at}`, at }));
    await audit.append([oldest!, middle!], LATER);
    await audit.append([newest!], NOW - 1);
    const [last] = await audit.list({ limit: 1 });
    t.deepEqual(last, newest);
    await storage.prune(NOW, 100);
    await audit.append([aRecord({ id: '4', at: 4 })], LATER);
    t.deepEqual(await audit.list({ before: last }), [middle, oldest]);
  });

  test('audit: list gives fifty unless told otherwise', async (t, { audit }) => {
    await audit.append(
      Array.from({ length: 51 }, (_, index) => aRecord({ id: `${index}` })),
      LATER,
    );
    t.is((await audit.list({})).length, 50);
    t.is((await audit.list({ limit: 51 })).length, 51);
  });

  test('audit: a list of no types is empty', async (t, { audit }) => {
    await audit.append([aRecord({ id: 'a' })], LATER);
    t.deepEqual(await audit.list({ types: [] }), []);
  });

  test('audit: a type that is asked for twice counts once', async (t, { audit }) => {
    const records = [aRecord({ id: 'b' }), aRecord({ id: 'a' })];
    await audit.append(records, LATER);
    t.deepEqual(await audit.list({ types: ['login', 'logout', 'login'], limit: 2 }), records);
    t.deepEqual(await audit.list({ types: ['login', 'login'], userId: 'ann', limit: 2 }), records);
  });

  test('audit: what strangers ask for is not there, and is no error', async (t, { audit }) => {
    await audit.append([aRecord({ id: 'a', at: 5 }, EVENTS[0])], LATER);
    for (const id of ['', '%', "' or 1=1 --", 'timetable\0', '\u{D800}', 'x'.repeat(100_000)]) {
      t.deepEqual(await audit.list({ clientId: id }), [], id.slice(0, 20));
      t.deepEqual(await audit.list({ userId: id }), [], id.slice(0, 20));
      t.deepEqual(await audit.list({ before: { id, at: 0 } }), [], id.slice(0, 20));
    }
    for (const at of [NaN, -Infinity, -(2 ** 70), 1.5]) {
      t.deepEqual(await audit.list({ before: { id: 'b', at } }), [], `${at}`);
    }
  });
}

const EVENTS: readonly AuditEvent[] = [
  { type: 'consent_given', clientId: 'timetable', userId: 'ann', scopes: [] },
  { type: 'login', clientId: 'timetable', userId: 'bob' },
  { type: 'logout', userId: 'ann' },
  { type: 'login', clientId: 'library', userId: 'ann' },
  { type: 'consent_given', clientId: 'timetable', userId: 'bob', scopes: [] },
];

/** Appends many records of a few milliseconds, in no order. Resolves to them in the order of a list. */
async function appendMany(audit: AuditStore): Promise<AuditRecord[]> {
  const records = Array.from({ length: 120 }, (_, index) =>
    aRecord({ id: `${index + 100}`, at: NOW * 1000 + (index % 3) }, EVENTS[(index * 7) % EVENTS.length]),
  );
  await audit.append(records, LATER);
  return records.toSorted((a, b) => b.at - a.at || Number(b.id) - Number(a.id));
}

async function allPages(audit: AuditStore, query: AuditQuery): Promise<AuditRecord[]> {
  const read: AuditRecord[] = [];
  for (;;) {
    const page = await audit.list({ ...query, before: read.at(-1) });
    if (page.length === 0) return read;
    read.push(...page);
  }
}

function isAsked(record: AuditRecord, { clientId, userId, types }: AuditQuery): boolean {
  const { clientId: ofClient, userId: ofUser } = { clientId: undefined, userId: undefined, ...record };
  return (
    (clientId ?? ofClient) === ofClient &&
    (userId ?? ofUser) === ofUser &&
    (types ?? [record.type]).includes(record.type)
  );
}
