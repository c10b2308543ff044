import { inspect } from 'node:util';

import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

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

// In every place where a row has text, and nowhere else.
const MARK = 'kept-in-a-row';
const LONG = `${MARK}-${'x'.repeat(300)}`;

/** What goes wrong, and with which rows in the statement. */
const CALLS: Readonly<Record<string, (storage: Storage, id: string) => Promise<unknown>>> = {
  client: async ({ clients }, id) => clients.insert(aClient({ id, name: MARK }), [aSecret({ hash: MARK })]),
  secret: async ({ clients }, id) =>
    clients.insert(aClient({ id: `${id}-other` }), [aSecret({ id, hash: MARK, label: MARK })]),
  code: async ({ credentials }, id) =>
    credentials.start(aGrant({ id, userId: MARK }), aCode({ id, grantId: id, payload: { MARK } })),
  successor: async ({ credentials }, id) => {
    await credentials.start(
      aGrant({ id: `${id}-grant` }),
      aCode({ id: `${id}-code`, grantId: `${id}-grant` }),
    );
    return credentials.redeem(
      { kind: 'code', id: `${id}-code` },
      {
        at: NOW * 1000,
        successor: aRefreshToken({ id, grantId: `${id}-grant`, payload: { MARK } }),
        sealedSuccessor: `${MARK}-sealed`,
      },
    );
  },
  session: async ({ sessions }, id) =>
    sessions.insert(aSession({ id, uid: id, userId: MARK, payload: { MARK } })),
  consent: async ({ consents }, id) => consents.add(aConsent({ userId: id, scopes: [MARK] })),
  key: async ({ keys }, id) => keys.add(aKey({ id, material: MARK })),
  record: async ({ audit }, id) =>
    audit.append([aRecord({ id }, { type: 'login', userId: MARK })], NOW + HOUR),
  revocation: async ({ revocations }, id) => revocations.add(aRevokedToken({ id })),
};

/** Everything that a logger could write of an error: its own members, hidden ones too, and those of what caused it. */
function allOf(error: unknown): string {
  const texts: string[] = [];
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Error).cause) {
    texts.push(inspect(one, { depth: 9 }));
    for (const name of Object.getOwnPropertyNames(one)) {
      texts.push(`${name}: ${inspect((one as unknown as Record<string, unknown>)[name], { depth: 9 })}`);
    }
  }
  return texts.join('\n');
}

/** The error of each call, none of which may tell what was in its rows. */
async function telling(
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
      const told = allOf(error);
      t.false(told.includes(MARK), `${what}: ${told}`);
      t.false(told.includes(Buffer.from(MARK).toString('hex')), `${what}: ${told}`);
    }
  }
  return failed;
}

function open(
  t: ExecutionContext,
  { client }: { readonly client: string },
  address: string,
): { readonly storage: Storage; readonly other: Knex } {
  const storage = knexStorage(address, { timeout: '500 ms' });
  const connection = client === 'better-sqlite3' ? { filename: address.slice('sqlite:'.length) } : address;
  const other = knex({ client, connection, useNullAsDefault: true, pool: { min: 0, max: 1 } });
  t.teardown(async () => {
    await storage.close();
    await other.destroy();
  });
  return { storage, other };
}

onEachDatabase('no error tells a value of a row: one that is there already', async (t, database, address) => {
  const { storage } = open(t, database, address);
  await storage.migrate();
  t.deepEqual(Object.keys(await telling(t, storage, `${MARK}-1`)), []);
  const failed = Object.keys(await telling(t, storage, `${MARK}-1`));
  for (const what of ['client', 'secret', 'code', 'successor', 'session'])
    t.true(failed.includes(what), what);
});

onEachDatabase('no error tells a value of a row: one that is too long', async (t, database, address) => {
  const { storage } = open(t, database, address);
  await storage.migrate();
  const failed = Object.keys(await telling(t, storage, LONG));
  t.is(failed.length, database === sqlite ? 0 : Object.keys(CALLS).length, failed.join());
});

onEachDatabase(
  'no error tells a value of a row: a column that is not there',
  async (t, database, address) => {
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
      // SQLite drops no column that an index is on.
      if (database === sqlite && column === 'revoked_at') continue;
      await other.schema.alterTable(`gatehouse_${table}`, (changed) => changed.renameColumn(column, 'gone'));
    }
    const failed = Object.keys(await telling(t, storage, `${MARK}-1`));
    t.true(failed.length >= 8, failed.join());
  },
);

onEachDatabase('no error tells a value of a row: a lock that is held', async (t, database, address) => {
  const { storage, other } = open(t, database, address);
  await storage.migrate();
  await telling(t, storage, `${MARK}-1`);
  const isPg = database.client === 'pg';
  const holding = await other.transaction();
  t.teardown(async () => {
    if (!holding.isCompleted()) await holding.rollback();
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
  if (database === sqlite) await holding('gatehouse_keys').update({ material: '' });
  else if (isPg) for (const table of tables) await holding.raw(`lock table gatehouse_${table}`);
  else await holding.raw(`lock tables ${tables.map((table) => `gatehouse_${table} write`).join(', ')}`);
  const failed = Object.keys(await telling(t, storage, `${MARK}-2`));
  t.deepEqual(failed, Object.keys(CALLS));
  if (database.client === 'mysql2') await holding.raw('unlock tables');
});
