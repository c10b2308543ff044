import { setImmediate as nextTurn } from 'node:timers/promises';

import type { EndedBy, Seconds } from '../../contracts/index.ts';
import type { Database, SignIns } from '../database.ts';
import { notEnded } from '../ends.ts';
import type { Condition } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';
import { inList } from '../rows.ts';
import { writeEnd, writeEndsOfGrants } from './ends.ts';

// SQLite blocks the thread while it updates a batch, and a server locks its rows. A power of two, see inList().
const BATCH = 256;

/** When grants are revoked, and by whom. */
export interface Revocation {
  readonly at: Seconds;
  /** `undefined` when no reader of ends is to learn of the revocation. */
  readonly by: EndedBy | undefined;
  /** Given when all grants of a user to a client end, also those that are stored elsewhere. */
  readonly connection?: Connection | undefined;
  /** Of the locks, for the few grants that many calls may end at once. MariaDB would read and lock all that meet the condition each time. */
  readonly order?: typeof BY_ID | '' | undefined;
}

/**
 * Calls that lock the same grants in this order wait for each other, instead of for a deadlock, which PostgreSQL finds after a second.
 *
 * `coalesce` keeps the databases from reading the whole table in the order of its primary key.
 */
export const BY_ID = `order by coalesce(id, '')`;

interface Connection {
  readonly userId: string;
  readonly clientId: string;
}

/** Marks grants that meet a condition as revoked, in batches. Resolves to the ids of the grants that were not revoked before. */
export async function revokeGrants(
  database: Database,
  condition: Condition,
  revocation: Revocation,
): Promise<readonly string[]> {
  const revoked: string[] = [];
  for (;;) {
    const isFirst = revoked.length === 0;
    const batch = await database.transaction(async (statements) => {
      if (isFirst) await writeConnection(statements, revocation);
      return revokeSome(statements, database.dialect, condition, revocation);
    });
    revoked.push(...batch.revoked);
    if (batch.isLast) return revoked;
    await nextTurn();
  }
}

/** Stores the end of a connection also where no grant is left to revoke, because grants may be stored elsewhere. */
async function writeConnection(statements: Statements, { by, connection }: Revocation): Promise<void> {
  if (!connection) return;
  await writeEnd(statements, {
    kind: 'connection',
    value: connection.clientId,
    ...connection,
    ...(by && { by }),
  });
}

/** Revokes one batch; runs inside a transaction. */
async function revokeSome(
  statements: Statements,
  { forUpdate }: Pick<Database['dialect'], 'forUpdate'>,
  { sql: condition, values }: Condition,
  { at, by, order = '' }: Revocation,
): Promise<{ readonly revoked: readonly string[]; readonly isLast: boolean }> {
  const find = async (state: string, most: number): Promise<string[]> =>
    findIds(statements, `${condition} and ${state} ${order} limit ?${forUpdate}`, [...values, most]);
  const live = await find('revoked_at is null', BATCH);
  const signsOut = by === 'owner';
  const signIns = signsOut && live.length < BATCH ? await find(SIGNED_IN_SINCE, BATCH - live.length) : [];
  const found = [...live, ...signIns];
  const isLast = found.length < BATCH;
  if (found.length > 0) {
    const marked = inList(found);
    // For a list of ids alone PostgreSQL may read the whole table. With the condition, SQLite and PostgreSQL compare all grants of the
    // user with the list, so only the last batch has it.
    const some = isLast
      ? { sql: `${condition} and id in ${marked.placeholders}`, values: [...values, ...marked.values] }
      : { sql: `id in ${marked.placeholders}`, values: marked.values };
    if (by) await writeEndsOfGrants(statements, some, { kind: 'grant', at, by });
    await statements.run(
      `update gatehouse_grants set revoked_at = coalesce(revoked_at, ?)${signsOut ? ', session_uid = null' : ''} where ${some.sql}`,
      [at, ...some.values],
    );
  }
  return { revoked: live, isLast };
}

// A revocation by the client or for a replay has ended only the tokens of the grant: the user is still signed in at the client.
const SIGNED_IN_SINCE = 'revoked_at is not null and session_uid is not null';

/** The grants by which a user is signed in. */
export function signInsOf(userId: string): Condition {
  return { sql: 'user_id = ? and session_uid is not null', values: [userId] };
}

/**
 * Ends a batch of the sign-ins that began before the end of a user, of a client or of all, and none that have begun since: see
 * `CoreSteps.endSignIns`.
 */
export async function endSignIns(
  statements: Statements,
  { forUpdate }: Pick<Database['dialect'], 'forUpdate'>,
  { at, clientId, ended, tell, userId }: SignIns,
): Promise<number> {
  const [column, value] = userId === undefined ? ['client_id', clientId!] : ['user_id', userId];
  const ids = await findIds(
    statements,
    `${column} = ? and session_uid is not null and not (${notEnded('gatehouse_grants', [ended])}) limit ?${forUpdate}`,
    [value, BATCH],
  );
  if (ids.length === 0) return 0;
  await tell(ids);
  const { placeholders, values } = inList(ids);
  await statements.run(
    `update gatehouse_grants set revoked_at = coalesce(revoked_at, ?), session_uid = null where id in ${placeholders}`,
    [at, ...values],
  );
  return ids.length;
}

async function findIds(
  statements: Statements,
  condition: string,
  values: readonly Value[],
): Promise<string[]> {
  const sql = `select id from gatehouse_grants where ${condition}`;
  return (await statements.all<{ id: string }>(sql, [...values])).map(({ id }) => id);
}
