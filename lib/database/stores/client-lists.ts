import { toSearched } from '../../contracts/client-search.ts';
import type { Client, ClientQuery } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { nameOfIndex } from '../create-table.ts';
import { CLIENT_ROW_AS_C } from './client-rows.ts';
import { inList, isStorable } from '../rows.ts';
import type { Row } from '../rows.ts';

/** Lists a page of clients in the order of an index, so that a page costs the same wherever it is in the list. */
export async function listClients(database: Database, query: ClientQuery): Promise<readonly Client[]> {
  const asked = [query.search, query.ownerId, query.after].filter((value) => value !== undefined);
  if (!asked.every(isStorable)) return [];
  const searched = toSearched(query.search ?? '');
  return searched === '' ? listAll(database, query) : listFound(database, query, searched);
}

async function listAll(
  database: Database,
  { ownerId, after, limit = 50 }: ClientQuery,
): Promise<readonly Client[]> {
  const last = after === undefined ? START : await database.get<{ value: string }>(SORT_NAME, [after]);
  if (!last) return [];
  const rows = await readOrdered<Row>(database, {
    select: { sql: CLIENT_ROW_AS_C.columns, values: [] },
    table: 'gatehouse_clients',
    alias: 'c',
    order: 'sort_name',
    id: 'id',
    ownerId,
    limit,
    last: { value: last.value, id: after ?? '' },
  });
  return rows.map(CLIENT_ROW_AS_C.read);
}

const START = { value: '' };

const SORT_NAME = 'select sort_name as value from gatehouse_clients where id = ?';

/**
 * First the client whose id equals the search, then the clients with a word in their name that begins with it, ordered by the name from
 * that word on.
 */
async function listFound(
  database: Database,
  { search = '', ownerId, after, limit = 50 }: ClientQuery,
  searched: string,
): Promise<readonly Client[]> {
  const exact = search.trim();
  const isFirst = after === undefined;
  let last: ListPosition | undefined = { value: searched, id: '' };
  if (!isFirst && after !== exact) last = await findPosition(database, after, searched);
  if (!last) return [];
  const ids: string[] = isFirst ? [exact] : [];
  const most = ids.length + limit;
  for (let isMore = true; isMore && ids.length < most;) {
    const rows: readonly ListedName[] = await readOrdered<ListedName>(database, {
      select: { sql: `n.client_id as id, n.beginning as value, (${FIRST}) as first`, values: [searched] },
      table: 'gatehouse_client_names',
      alias: 'n',
      order: 'beginning',
      id: 'client_id',
      ownerId,
      limit,
      last,
    });
    const found = rows.filter(({ value }) => value.startsWith(searched));
    // A name has a row for each of its words, and several words may begin with the search.
    ids.push(...found.filter(({ id, value, first }) => value === first && id !== exact).map(({ id }) => id));
    isMore = found.length === limit;
    last = rows.at(-1)!;
  }
  return (await findAll(database, ids, ownerId)).slice(0, limit);
}

const FIRST = `
  select min(f.beginning) from gatehouse_client_names f where f.client_id = n.client_id and f.beginning >= ?`;

const FIRST_OF =
  'select min(beginning) as value from gatehouse_client_names where client_id = ? and beginning >= ?';

/** Where a client is among those that a search finds; `undefined` when it is not. */
async function findPosition(
  database: Database,
  id: string,
  searched: string,
): Promise<ListPosition | undefined> {
  const { value } = (await database.get<{ value: string | null }>(FIRST_OF, [id, searched]))!;
  return value?.startsWith(searched) ? { value, id } : undefined;
}

/** The clients with these ids, in this order. Clients that do not exist or have another owner are left out. */
async function findAll(
  database: Database,
  ids: readonly string[],
  ownerId: string | undefined,
): Promise<readonly Client[]> {
  if (ids.length === 0) return [];
  const { placeholders, values } = inList(ids);
  const rows = await database.all<Row>(
    `select ${CLIENT_ROW_AS_C.columns} from gatehouse_clients c where c.id in ${placeholders}`,
    values,
  );
  const found = new Map(rows.map(CLIENT_ROW_AS_C.read).map((client) => [client.id, client]));
  return ids
    .flatMap((id) => found.get(id) ?? [])
    .filter((client) => ownerId === undefined || client.ownerId === ownerId);
}

interface ListedName extends ListPosition {
  /** The first of the client's rows that a search finds. */
  readonly first: string;
}

/** A place in the order of a list. */
interface ListPosition {
  readonly value: string;
  readonly id: string;
}

interface Ordered {
  readonly select: { readonly sql: string; readonly values: readonly string[] };
  readonly table: string;
  readonly alias: string;
  /** The column that the rows are ordered by, before the `id`. */
  readonly order: string;
  readonly id: string;
  readonly ownerId: string | undefined;
  /** The place after which rows are read. */
  readonly last: ListPosition;
  readonly limit: number;
}

async function readOrdered<Found>(database: Database, asked: Ordered): Promise<readonly Found[]> {
  const { select, table, alias, order, id, ownerId, last, limit } = asked;
  const isOwned = ownerId !== undefined;
  const index = [...(isOwned ? ['owner_id'] : []), order, id];
  const columns = index.map((column) => `${alias}.${column}`);
  const after = database.dialect.rowsAfter(columns, [...(isOwned ? [ownerId] : []), last.value, last.id]);
  // The owner has two bounds instead of a comparison for equality, and the limit is not a bound value: otherwise PostgreSQL, without
  // statistics, would expect too few or too many rows, and sort all of them instead of reading the index in its order.
  return database.all<Found>(
    `select ${select.sql} from ${table} ${alias}${database.dialect.indexHint(nameOfIndex(table, index))}
     where ${after.sql}${isOwned ? ` and ${alias}.owner_id <= ?` : ''}
     order by ${columns.join(', ')} limit ${Math.trunc(limit)}`,
    [...select.values, ...after.values, ...(isOwned ? [ownerId] : [])],
  );
}
