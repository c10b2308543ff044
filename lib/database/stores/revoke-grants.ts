import { setImmediate as nextTurn } from 'node:timers/promises';

import type { LogoutNotice, RevokedParty, Seconds } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Condition } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import { inList } from '../column-values.ts';
import { insertLogouts, SIGN_IN } from './logouts.ts';
import type { SignInRow } from './logouts.ts';

// SQLite blocks the thread while it updates a batch, and a server locks its rows. A power of two, see inList().
const BATCH = 256;

/** When grants are revoked, and what is stored for the clients that are told. */
export interface Revocation {
  readonly at: Seconds;
  readonly notice: LogoutNotice | undefined;
}

/** Marks grants that meet a condition as revoked, in batches. Resolves to the ids of those that were not. */
export async function revokeGrants(
  database: Database,
  condition: Condition,
  revocation: Revocation,
): Promise<readonly string[]> {
  const revoked: string[] = [];
  for (;;) {
    const batch = await database.transaction(async (statements) =>
      revokeSome(statements, database.dialect, condition, revocation),
    );
    revoked.push(...batch.revoked);
    if (batch.isLast) return revoked;
    await nextTurn();
  }
}

/** Revokes one batch; runs inside a transaction. */
export async function revokeSome(
  statements: Statements,
  { forUpdate }: Pick<Database['dialect'], 'forUpdate'>,
  { sql: condition, values }: Condition,
  { at, notice }: Revocation,
): Promise<{ readonly revoked: readonly string[]; readonly isLast: boolean }> {
  const find = async (state: string, most: number): Promise<SignInRow[]> =>
    statements.all<SignInRow>(
      `select ${SIGN_IN} from gatehouse_grants where ${condition} and ${state} limit ?${forUpdate}`,
      [...values, most],
    );
  const live = await find('revoked_at is null', BATCH);
  const isWithSignIns = notice !== undefined && live.length < BATCH;
  const signIns = isWithSignIns ? await find(SIGNED_IN_SINCE, BATCH - live.length) : [];
  const found = [...live, ...signIns];
  const isLast = found.length < BATCH;
  if (found.length > 0) {
    if (notice) await insertLogouts(statements, found, notice);
    const marked = inList(found.map(({ id }) => id));
    // For a list of ids alone PostgreSQL may read the whole table. With the condition, SQLite and PostgreSQL compare all grants of the
    // user with the list, so only the last batch has it.
    const of = isLast ? { sql: `${condition} and`, values } : { sql: '', values: [] };
    await statements.run(
      `update gatehouse_grants set revoked_at = coalesce(revoked_at, ?)${notice ? ', session_uid = null' : ''}
       where ${of.sql} id in ${marked.placeholders}`,
      [at, ...of.values, ...marked.values],
    );
  }
  return { revoked: live.map(({ id }) => id), isLast };
}

// What its client has revoked, or a replay, ends the tokens of a grant: the user is still signed in at the client.
const SIGNED_IN_SINCE = 'revoked_at is not null and session_uid is not null';

/** The grants by which a user is signed in. */
export function signInsOf(userId: string): Condition {
  return { sql: 'user_id = ? and session_uid is not null', values: [userId] };
}

/** Revokes the grants by which users are signed in, after they were ended together, and stores which clients are told. */
export async function revokeSignIns(
  database: Database,
  party: RevokedParty,
  notice: LogoutNotice,
): Promise<void> {
  const revocation = { at: notice.createdAt, notice };
  if ('userId' in party) {
    await revokeGrants(database, signInsOf(party.userId), revocation);
    return;
  }
  const clients = await ('clientId' in party
    ? database.all<{ id: string }>(`${TOLD_CLIENTS} and id = ?`, [party.clientId])
    : database.all<{ id: string }>(TOLD_CLIENTS));
  for (const { id } of clients)
    await revokeGrants(
      database,
      { sql: 'client_id = ? and session_uid is not null', values: [id] },
      revocation,
    );
}

const TOLD_CLIENTS = 'select id from gatehouse_clients where backchannel_logout_uri is not null';
