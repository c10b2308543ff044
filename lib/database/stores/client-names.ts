import { toBeginnings } from '../../contracts/client-search.ts';
import type { Client } from '../../contracts/index.ts';
import type { Dialect } from '../dialect.ts';
import type { Statements } from '../statements.ts';

type NamedClient = Pick<Client, 'id' | 'name' | 'ownerId'>;

/** A row of `gatehouse_client_names`. */
type ClientNameRow = readonly [clientId: string, beginning: string, ownerId: string | null];

/**
 * Writes the rows by which a client is searched, for its name and its owner. Runs inside the transaction that has inserted or changed the
 * client, so that another change of the client waits. Rows that are right already stay untouched.
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

/** The stored beginnings of a client's name, each with its stored owner. */
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

const DELETE = 'delete from gatehouse_client_names where client_id = ?';

// A query for one client only: for several clients, PostgreSQL keeps a plan from when the table was small, and reads the whole table.
const READ = 'select beginning, owner_id from gatehouse_client_names where client_id = ?';
