import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { createAdministration } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';

import { TABLES } from '../../lib/database/tables.ts';
import { onEachDatabase } from './databases.ts';
import { openHost, openStorage } from './host-knex.ts';

type Table = (typeof TABLES)[number];
type Row = Readonly<Record<string, string | number | null>>;

/** Columns with the id of a user. */
const OF_USER = /^(user_id|owner_id|disabled_by)$/;

/** Tables whose rows do not expire: they stay until something deletes them. */
const LASTING: Readonly<Record<string, string>> = {
  gatehouse_assignments: 'a change of the assignment, or an erasure',
  gatehouse_client_names: 'the removal of the client',
  gatehouse_allowed_grants:
    'the removal of the client, an erasure, or the host, which lets the app act again',
  gatehouse_client_secrets: 'the removal of the secret, or of the client',
  gatehouse_clients: 'the removal of the client',
  gatehouse_consents: 'the end of the consent, or an erasure',
  gatehouse_ends: 'its reader, or prune(), when the reader has read nothing for days',
  gatehouse_keys: 'prune(), when the key has retired',
  gatehouse_registrations: 'the removal of the client',
};

/** Tables of which `prune()` deletes rows by another condition than an expiry. */
const PRUNED_OTHERWISE = new Set(['gatehouse_ends']);

/** Tables with something of a user that an erasure has to leave, with the reason. */
const KEPT: Readonly<Record<string, string>> = {
  gatehouse_ends: 'the end of the user, of which apps are told: its reader deletes it',
};

/** Tables with something of a user that the export does not have, with the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  gatehouse_client_names: 'the names of the apps, by which they are searched: the export has the apps',
  gatehouse_credentials: 'hashes: the export has the grants that they belong to',
  gatehouse_logouts: 'the end of a session on its way to an app: the export has its event',
  gatehouse_registrations: 'that nobody else has consented to an app: the export has the consents',
};

/** Two rows of each table, with a value of its type in each column. Columns with the same number belong together. */
function rowOf({ columns, expires }: Table, number: 1 | 2, expiresAt = 9e9): Row {
  const entries = Object.entries(columns).flatMap(([column, type]): [string, string | number | null][] => {
    if (column === expires) return [[column, expiresAt]];
    if (OF_USER.test(column)) return [[column, number === 1 ? 'ann' : 'bob']];
    // A counter begins by itself.
    if (type === 'counter') return [];
    if (type.endsWith('?')) return [[column, null]];
    if (type === 'text') return [[column, '{}']];
    return [[column, type === 'id' ? `${number}` : number]];
  });
  return Object.fromEntries(entries);
}

/** What is stored of a row, by its key. */
async function stored(host: Knex, { key = ['id'], name }: Table, row: Row): Promise<unknown> {
  return host(name)
    .where(Object.fromEntries(key.map((column) => [column, row[column]!])))
    .first();
}

async function open(
  t: ExecutionContext,
  client: Parameters<typeof openHost>[1],
  address: string,
): Promise<{ host: Knex; storage: Storage }> {
  const storage = await openStorage(t, address);
  return { host: openHost(t, client, address), storage };
}

onEachDatabase(
  'of each table, the rows that have expired are pruned, and no others',
  async (t, { client }, address) => {
    const { host, storage } = await open(t, client, address);
    const rows = TABLES.map((table) => ({ table, rows: [rowOf(table, 1, 100), rowOf(table, 2)] }));
    for (const { table, rows: both } of rows) await host(table.name).insert(both);
    while ((await storage.prune(1000, 100)) > 0);
    for (const { rows: both, table } of rows) {
      const { expires, name } = table;
      const [isThere, other] = await Promise.all(
        both.map(async (row) => (await stored(host, table, row)) !== undefined),
      );
      if (PRUNED_OTHERWISE.has(name)) continue;
      t.true(other, name);
      t.is(isThere, expires === undefined, `${name}: prune() has to delete by ${expires}`);
      t.is(
        expires === undefined,
        name in LASTING,
        `${name}: say when its rows expire, in its declaration, or here what deletes them`,
      );
    }
  },
);

onEachDatabase(
  'of each table, an erasure takes what it has of the user, and nothing of others',
  async (t, { client }, address) => {
    const { host, storage } = await open(t, client, address);
    for (const table of TABLES) await host(table.name).insert([rowOf(table, 1), rowOf(table, 2)]);
    const before = await Promise.all(
      TABLES.map(async (table) =>
        Promise.all(([1, 2] as const).map(async (number) => stored(host, table, rowOf(table, number)))),
      ),
    );
    await storage.userData.erase('ann', () => true);
    for (const [index, table] of TABLES.entries()) {
      const { columns, emptied, name, user } = table;
      const [own, other] = before[index]!;
      const left = await stored(host, table, rowOf(table, 1));
      t.deepEqual(await stored(host, table, rowOf(table, 2)), other, name);
      if (emptied !== undefined) {
        t.deepEqual(
          left,
          { ...(own as object), [emptied]: null },
          `${name}: an erasure has to empty ${emptied}`,
        );
      } else if (user === undefined) {
        const ofUser = Object.keys(columns).filter((column) => OF_USER.test(column));
        t.deepEqual(name in KEPT ? [] : ofUser, [], `${name}: say whose its rows are, in its declaration`);
        t.deepEqual(left, own, name);
      } else if (user === 'by hand') {
        t.notDeepEqual(left, own, `${name}: erase what it has of a user, in userDataStore()`);
        t.false(Object.values(left ?? {}).includes('ann'), `${name} still names the user`);
      } else {
        t.is(left, undefined, `${name}: an erasure has to delete by ${user}`);
      }
    }
  },
);

onEachDatabase(
  'of each table, the export of a user has what is of the user',
  async (t, { client }, address) => {
    const { host, storage } = await open(t, client, address);
    const { userData } = createAdministration({ storage });
    for (const table of TABLES.filter(({ emptied, user }) => (user ?? emptied) !== undefined)) {
      const { name } = table;
      const before = await userData.export('ann');
      await host(name).insert(rowOf(table, 1));
      const isExported = JSON.stringify(await userData.export('ann')) !== JSON.stringify(before);
      t.is(
        isExported,
        !(name in LEFT_OUT),
        `${name}: add its rows to userData.export(), or to exportUser of its feature, or say here why they are left out`,
      );
    }
  },
);
