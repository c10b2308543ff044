import { setImmediate as nextTurn } from 'node:timers/promises';

import type { LogoutNotice, RevokedParty, Seconds } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Condition } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import { inList } from './column-values.ts';
import { insertLogouts, SIGN_IN } from './logouts.ts';
import type { SignInRow } from './logouts.ts';

// SQLite blocks the thread while it updates a batch, and a server locks its rows. A power of two, see inList().
const BATCH = 256;

/** When grants are revoked, and what is stored for the clients that are told. */
export interface Revocation {
  readonly at: Seconds;
  readonly notice: LogoutNotice | undefined;
}

/** Marks grants that meet a condition as revoked, in batches. Resolves to their ids. */
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
    revoked.push(...batch);
    if (batch.length < BATCH) return revoked;
    await nextTurn();
  }
}

/** Revokes one batch; runs inside a transaction. */
export async function revokeSome(
  statements: Statements,
  { forUpdate }: Pick<Database['dialect'], 'forUpdate'>,
  { sql: condition, values }: Condition,
  { at, notice }: Revocation,
): Promise<readonly string[]> {
  const live = await statements.all<SignInRow>(
    `select ${SIGN_IN} from gatehouse_grants where ${condition} and revoked_at is null limit ?${forUpdate}`,
    [...values, BATCH],
  );
  const ids = live.map(({ id }) => id);
  if (ids.length > 0) {
    const marked = inList(ids);
    // With the condition, because for a list of ids alone PostgreSQL may read the whole table.
    const sql = `update gatehouse_grants set revoked_at = ? where ${condition} and id in ${marked.placeholders}`;
    await statements.run(sql, [at, ...values, ...marked.values]);
    if (notice) await insertLogouts(statements, live, notice);
  }
  return ids;
}

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
