// Alone, first: it waits for connections that a database ends.
import { inspect } from 'node:util';

import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Duration } from '../../lib/contracts/duration.ts';
import type { Storage } from '../../lib/contracts/index.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aKey,
  aRecord,
  aRefreshToken,
  aRevokedToken,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from '../../lib/testing/storage/rows.ts';
import { onEachDatabase, sqlite } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { connectHost } from './host-knex.ts';

// The text of each row that has text.
const ROW_TEXT = 'kept-in-a-row';
const LONG = `${ROW_TEXT}-${'x'.repeat(300)}`;

/** Calls that fail, by the row in the failing statement. */
const CALLS: Readonly<Record<string, (storage: Storage, id: string) => Promise<unknown>>> = {
  client: async ({ clients }, id) =>
    clients.insert(aClient({ id, name: ROW_TEXT }), [aSecret({ hash: ROW_TEXT })]),
  secret: async ({ clients }, id) =>
    clients.insert(aClient({ id: `${id}-other` }), [aSecret({ id, hash: ROW_TEXT, label: ROW_TEXT })]),
  code: async ({ grants }, id) =>
    grants.insert(aGrant({ id, userId: ROW_TEXT }), aCode({ id, grantId: id, payload: { ROW_TEXT } })),
  successor: async ({ grants }, id) => {
    await grants.insert(aGrant({ id: `${id}-grant` }), aCode({ id: `${id}-code`, grantId: `${id}-grant` }));
    return grants.redeem(
      { kind: 'code', id: `${id}-code` },
      {
        successor: aRefreshToken({ id, grantId: `${id}-grant`, payload: { ROW_TEXT } }),
        sealedSuccessor: `${ROW_TEXT}-sealed`,
      },
    );
  },
  session: async ({ sessions }, id) =>
    sessions.insert(aSession({ id, uid: id, userId: ROW_TEXT, payload: { ROW_TEXT } })),
  consent: async ({ consents }, id) => consents.add(aConsent({ userId: id, scopes: [ROW_TEXT] })),
  key: async ({ keys }, id) => keys.insert(aKey({ id, material: ROW_TEXT })),
  record: async ({ audit }, id) =>
    audit.append([aRecord({ id }, { type: 'login', userId: ROW_TEXT })], NOW + HOUR),
  revocation: async ({ revocations }, id) => revocations.revokeToken(aRevokedToken({ id })),
};

/** Everything that a logger could write of an error: all own properties, and those of its causes. */
function textOf(error: unknown): string {
  const texts: string[] = [];
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Error).cause) {
    texts.push(inspect(one, { depth: 9 }));
    for (const name of Object.getOwnPropertyNames(one)) {
      texts.push(`${name}: ${inspect((one as unknown as Record<string, unknown>)[name], { depth: 9 })}`);
    }
  }
  return texts.join('\n');
}

/** The error of each call. None may contain the text of a row. */
async function errorsOf(
  t: ExecutionContext,
  storage: Storage,
  id: string,
): Promise<Readonly<Record<string, Error>>> {
  const failed: Record<string, Error> = {};
  for (const [what, call] of Object.entries(CALLS)) {
    try {
      await call(storage, id);
    } catch (error) {
      failed[what] = error as Error;
      t.like(error, { status: 503 }, what);
      const text = textOf(error);
      t.false(text.includes(ROW_TEXT), `${what}: ${text}`);
      t.false(text.includes(Buffer.from(ROW_TEXT).toString('hex')), `${what}: ${text}`);
    }
  }
  return failed;
}

function open(
  t: ExecutionContext,
  { client }: TestDatabase,
  address: string,
  timeout?: Duration,
): { readonly storage: Storage; readonly other: Knex } {
  const storage = knexStorage(address, { timeout });
  const other = connectHost(client, address, { min: 0, max: 1 });
  t.teardown(async () => {
    await storage.close();
    await other.destroy();
  });
  return { storage, other };
}

onEachDatabase('no error contains a value of a row: duplicate key', async (t, database, address) => {
  const { storage } = open(t, database, address);
  await storage.migrate();
  t.deepEqual(Object.keys(await errorsOf(t, storage, `${ROW_TEXT}-1`)), []);
  const failed = Object.keys(await errorsOf(t, storage, `${ROW_TEXT}-1`));
  for (const what of ['client', 'secret', 'code', 'successor', 'session'])
    t.true(failed.includes(what), what);
});

onEachDatabase('no error contains a value of a row: value too long', async (t, database, address) => {
  const { storage } = open(t, database, address);
  await storage.migrate();
  const failed = Object.keys(await errorsOf(t, storage, LONG));
  t.is(failed.length, database === sqlite ? 0 : Object.keys(CALLS).length, failed.join());
});

onEachDatabase('no error contains a value of a row: locked table', async (t, database, address) => {
  const before = open(t, database, address).storage;
  await before.migrate();
  await errorsOf(t, before, `${ROW_TEXT}-1`);
  const { storage, other } = open(t, database, address, '500 ms');
  const isPg = database.client === 'pg';
  const locking = await other.transaction();
  t.teardown(async () => {
    if (!locking.isCompleted()) await locking.rollback();
  });
  const tables = [
    'clients',
    'client_secrets',
    'credentials',
    'grants',
    'sessions',
    'consents',
    'keys',
    'audit',
    'revocations',
  ];
  if (database === sqlite) await locking('gatehouse_keys').update({ material: '' });
  else if (isPg) for (const table of tables) await locking.raw(`lock table gatehouse_${table}`);
  else await locking.raw(`lock tables ${tables.map((table) => `gatehouse_${table} write`).join(', ')}`);
  const failed = Object.keys(await errorsOf(t, storage, `${ROW_TEXT}-2`));
  t.deepEqual(failed, Object.keys(CALLS));
  if (database.client === 'mysql2') await locking.raw('unlock tables');
});

// The last one, because the tests of a server share its database.
onEachDatabase('no error contains a value of a row: missing column', async (t, database, address) => {
  const { storage, other } = open(t, database, address);
  await storage.migrate();
  for (const [table, column] of [
    ['clients', 'name'],
    ['credentials', 'payload'],
    ['sessions', 'payload'],
    ['consents', 'scopes'],
    ['keys', 'material'],
    ['audit', 'type'],
    ['revocations', 'revoked_at'],
  ] as const) {
    // SQLite cannot rename a column that has an index.
    if (database === sqlite && column === 'revoked_at') continue;
    await other.schema.alterTable(`gatehouse_${table}`, (changed) => changed.renameColumn(column, 'gone'));
  }
  const failed = Object.keys(await errorsOf(t, storage, `${ROW_TEXT}-1`));
  t.true(failed.length >= 8, failed.join());
});
