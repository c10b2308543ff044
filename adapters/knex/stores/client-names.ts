import { setImmediate as nextTurn } from 'node:timers/promises';

import { toBeginnings } from '../../../lib/contracts/client-search.ts';
import type { Client, Seconds } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import { BATCH } from './batches.ts';
import { inList } from './column-values.ts';
import type { Integer } from './column-values.ts';

type NamedClient = Pick<Client, 'id' | 'name' | 'ownerId'>;

/** A row of `gatehouse_client_names`. */
type ClientNameRow = readonly [clientId: string, beginning: string, ownerId: string | null];

/**
 * Makes the rows by which a client is searched those of its name and owner; runs inside the transaction that has inserted or changed
 * the client, so that another change of it waits. Rows that are right stay untouched.
 */
export async function writeNames(
  statements: Statements,
  dialect: Dialect,
  client: NamedClient,
): Promise<void> {
  const written = await readNames(statements, client.id);
  if (isRight(client, written)) return;
  if (written.size > 0) await statements.run(DELETE, [client.id]);
  await insertRows(statements, dialect, rowsOf(client));
}

/**
 * Does so for all clients that were changed since a time: nodes of the version before migration 0016 register
 * and rename clients without it.
 */
export async function indexClientNames(database: Database, since: Seconds): Promise<void> {
  for (let after = ''; ;) {
    // Of all clients without the other condition, because PostgreSQL would expect few rows without statistics, and read them all.
    const page =
      since === 0
        ? await database.all<FoundName>(`${FIND} where id > ? ${BY_ID}`, [after])
        : await database.all<FoundName>(`${FIND} where id > ? and updated_at >= ? ${BY_ID}`, [after, since]);
    const wrong: string[] = [];
    for (const { id, written, ...row } of page) {
      const isMissing = Number(written) === 0;
      if (isMissing || !isRight(toNamed({ id, ...row }), await readNames(database, id))) wrong.push(id);
    }
    if (wrong.length > 0) await indexAgain(database, wrong);
    if (page.length < BATCH) return;
    after = page.at(-1)!.id;
    await nextTurn();
  }
}

async function indexAgain(database: Database, ids: readonly string[]): Promise<void> {
  const { dialect } = database;
  const list = inList(ids);
  // The range is what PostgreSQL finds in the index; for the list, it may read a table of tens of thousands.
  const asked = `where id >= ? and id <= ? and id in ${list.placeholders}`;
  const values = [ids[0]!, ids.at(-1)!, ...list.values];
  await database.transaction(async (statements) => {
    // A change and no lock, because a Galera cluster does not replicate locks.
    await statements.run(`${LOCK} ${asked}`, values);
    const rows = await statements.all<FoundName>(`${FIND} ${asked}`, values);
    const missing = rows.filter(({ written }) => Number(written) === 0);
    for (const row of rows.filter((one) => !missing.includes(one)))
      await writeNames(statements, dialect, toNamed(row));
    if (missing.length > 0)
      await insertRows(
        statements,
        dialect,
        missing.flatMap((row) => rowsOf(toNamed(row))),
      );
  });
}

/** The owner of each beginning that is written of a client. */
type Written = ReadonlyMap<string, string | null>;

async function readNames(statements: Pick<Statements, 'all'>, id: string): Promise<Written> {
  const rows = await statements.all<NameRow>(READ, [id]);
  return new Map(rows.map(({ beginning, owner_id: ownerId }) => [beginning, ownerId]));
}

function isRight(client: NamedClient, written: Written): boolean {
  const rows = rowsOf(client);
  return (
    written.size === rows.length && rows.every(([, beginning, ownerId]) => written.get(beginning) === ownerId)
  );
}

function rowsOf({ id, name, ownerId }: NamedClient): readonly ClientNameRow[] {
  return toBeginnings(name).map((beginning) => [id, beginning, ownerId ?? null]);
}

async function insertRows(
  statements: Statements,
  dialect: Dialect,
  rows: readonly ClientNameRow[],
): Promise<void> {
  // Padded with copies, which `onConflict` ignores: prepared statements are cached by their text, so there must be few of them.
  const length = 2 ** Math.ceil(Math.log2(rows.length));
  const padded: readonly ClientNameRow[] = Array.from({ length }, (_, index) => rows[index] ?? rows[0]!);
  const conflict = dialect.onConflict({ table: 'gatehouse_client_names', key: ['client_id', 'beginning'] });
  await statements.run(
    `insert into gatehouse_client_names (client_id, beginning, owner_id)
     values ${padded.map(() => '(?, ?, ?)').join(', ')} ${conflict}`,
    padded.flat(),
  );
}

interface NameRow {
  readonly beginning: string;
  readonly owner_id: string | null;
}

interface ClientRow {
  readonly id: string;
  readonly name: string;
  readonly owner_id: string | null;
}

interface FoundName extends ClientRow {
  /** The number of its rows. */
  readonly written: Integer;
}

function toNamed({ id, name, owner_id: ownerId }: ClientRow): NamedClient {
  return { id, name, ownerId: ownerId ?? undefined };
}

const DELETE = 'delete from gatehouse_client_names where client_id = ?';

// Of one client, because PostgreSQL keeps a plan for several that was made while the table was small, and reads all of it.
const READ = 'select beginning, owner_id from gatehouse_client_names where client_id = ?';

const FIND = `
  select id, name, owner_id, (select count(*) from gatehouse_client_names where client_id = id) as written
  from gatehouse_clients`;

const BY_ID = `order by id limit ${BATCH}`;

const LOCK = 'update gatehouse_clients set lock_count = coalesce(lock_count, 0) + 1';
