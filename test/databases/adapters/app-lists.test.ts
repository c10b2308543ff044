// What MariaDB reads depends on a hint, where other databases choose the index by themselves.
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { toBeginnings } from '../../../lib/contracts/client-search.ts';
import type { Client, ClientQuery, Storage } from '../../../lib/contracts/index.ts';
import { NOW } from '../../storage/rows.ts';
import { mariadb, onEachEmptyDatabase } from '../../adapters/databases.ts';
import { openHost, rowsReadBy, SOLE } from '../../adapters/host-knex.ts';

const APPS = 20_000;
const PAGE = 26;
// Of a page: each of its apps is found through two indexes, whose trees have three levels.
const MOST = 8 * PAGE;

/** As they are in the table: every tenth has the same name, and the others are in the order of their numbers. */
function appRow(number: number) {
  const name = number % 10 === 0 ? 'MCP Client' : `School app ${String(number).padStart(5, '0')}`;
  return {
    id: `id-${number}`,
    name,
    sort_name: name.toLowerCase(),
    owner_id: number % 2 === 0 ? 'ann' : 'bob',
    grant_type: 'authorization_code',
    redirect_uris: '[]',
    post_logout_redirect_uris: '[]',
    source: 'manual',
    lifetimes: '{}',
    verified: 0,
    roles: '[]',
    permissions: '[]',
    confidential: 1,
    native: 0,
    first_party: 0,
    disabled: 0,
    created_at: NOW,
    updated_at: NOW,
  };
}

/** Migrates a database and fills it with many apps. */
async function fill(host: Knex): Promise<Storage> {
  const storage = knexStorage(host, { timeout: '1 minute' });
  await storage.migrate();
  const rows = Array.from({ length: APPS }, (_, index) => appRow(index));
  await host.batchInsert('gatehouse_clients', rows, 400);
  const names = rows.flatMap(({ id, name, owner_id }) =>
    toBeginnings(name).map((beginning) => ({ client_id: id, beginning, owner_id })),
  );
  await host.batchInsert('gatehouse_client_names', names, 400);
  return storage;
}

const PAGES: readonly { readonly what: string; readonly query: ClientQuery; readonly from: number }[] = [
  { what: 'all', query: {}, from: APPS },
  { what: 'those of an owner', query: { ownerId: 'bob' }, from: APPS / 2 },
  { what: 'those with the same name', query: { search: 'mcp' }, from: APPS / 10 },
  { what: 'those with a word', query: { search: 'app' }, from: (APPS * 9) / 10 },
  { what: 'those of an owner with a word', query: { search: 'app', ownerId: 'ann' }, from: (APPS * 4) / 10 },
];

/** The client in the order of a list at a share of it. */
async function nth(host: Knex, { search, ownerId }: ClientQuery, index: number): Promise<string> {
  const rows = host('gatehouse_clients')
    .select('id')
    .orderBy('sort_name')
    .orderBy('id')
    .offset(index)
    .limit(1);
  if (search !== undefined) void rows.where('sort_name', 'like', `%${search}%`);
  if (ownerId !== undefined) void rows.where('owner_id', ownerId);
  return (await rows)[0].id;
}

onEachEmptyDatabase(
  'a page of apps reads as much at 90 % as at the beginning',
  async (t, { client }, address) => {
    const host = openHost(t, client, address, SOLE);
    const storage = await fill(host);
    const tooMany: string[] = [];
    for (const { what, query, from } of PAGES) {
      for (const share of [0, 0.1, 0.5, 0.9]) {
        const after = share === 0 ? undefined : await nth(host, query, from * share - 1);
        let page: readonly Client[] = [];
        const call = async (): Promise<void> => {
          page = await storage.clients.list({ ...query, after, limit: PAGE });
        };
        const reads = await rowsReadBy(host, call);
        t.is(page[0]?.id, await nth(host, query, from * share), `${what}, ${share}`);
        t.is(page.length, PAGE);
        if (reads > MOST) tooMany.push(`${what}, at ${share * 100} %: ${reads}`);
      }
    }
    for (const search of ['app 19999', 'nothing', 'id-19998']) {
      let page: readonly Client[] = [];
      const call = async (): Promise<void> => {
        page = await storage.clients.list({ search, limit: PAGE });
      };
      const reads = await rowsReadBy(host, call);
      t.is(page.length, search === 'nothing' ? 0 : 1, search);
      if (reads > MOST) tooMany.push(`${search}: ${reads}`);
    }
    t.deepEqual(tooMany, []);
  },
  [mariadb],
);
