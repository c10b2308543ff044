import type { CredentialStore, Redemption } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Integer } from './column-values.ts';
import { INSERT_CREDENTIAL, INSERT_CREDENTIAL_FOR, toValues, WITH_LIVE_GRANT } from './credential-rows.ts';

/**
 * Spends a credential in one statement, for databases that allow changes inside a query.
 *
 * The statement takes one round trip. A transaction of several statements would take six, with the grant locked meanwhile.
 */
export function redeemAtOnce(database: Database): CredentialStore['redeem'] {
  return async ({ kind, id }, { at, successor, sealedSuccessor, neededUntil = 0 }) => {
    const grantNeededUntil = Math.max(neededUntil, successor?.expiresAt ?? 0);
    const values = [id, kind, at, sealedSuccessor ?? null, id, kind, grantNeededUntil, grantNeededUntil];
    const winner = successor
      ? await database.get(REDEEM_FOR_SUCCESSOR, [...values, ...toValues(successor)])
      : await database.get(REDEEM, values);
    if (winner) return { outcome: 'redeemed' };
    // The statement's snapshot is older than the winner's commit, so the winner's values need a second query.
    const spent = await database.get<SpentRow>(FIND_SPENT, [id, kind]);
    if (!spent) return { outcome: 'gone' };
    return toSpent(spent);
  };
}

// Concurrent redemptions wait for the lock of the grant. PostgreSQL then checks the conditions again on the current rows: the
// first redemption finds the credential unspent, the others find it spent, and after a revocation none finds the grant.
const STEPS = `
  live as (
    select g.id ${WITH_LIVE_GRANT} for update of g
  ),
  spent as (
    update gatehouse_credentials c set consumed_at = ?, sealed_successor = ? from live
    where c.id = ? and c.kind = ? and c.grant_id = live.id and c.consumed_at is null
    returning c.grant_id
  ),
  extended as (
    update gatehouse_grants g set needed_until = ? from spent
    where g.id = spent.grant_id and g.needed_until < ?
  )`;

const REDEEM = `with ${STEPS} select grant_id from spent`;

const REDEEM_FOR_SUCCESSOR = `
  with ${STEPS}, saved as (${INSERT_CREDENTIAL_FOR} from spent) select grant_id from spent`;

// A lock is written to the log, so this call waits for a synchronous standby as the winner's does. A winner whose wait was
// cancelled is visible here; its successor must not be handed out before the standby has it.
const FIND_SPENT = `
  select c.consumed_at, c.sealed_successor ${WITH_LIVE_GRANT} and c.consumed_at is not null for share of c`;

/** Spends a credential in a transaction, step by step. */
export function redeemInSteps(database: Database): CredentialStore['redeem'] {
  const find = `
    select c.consumed_at, c.sealed_successor, g.id as grant_id, g.needed_until
    ${WITH_LIVE_GRANT}${database.dialect.forUpdate}`;

  return async ({ kind, id }, { at, successor, sealedSuccessor, neededUntil = 0 }) =>
    database.transaction(async (statements): Promise<Redemption> => {
      // One conditional write: of concurrent redemptions one changes the row; the others wait here and then change none.
      const won = (await statements.run(SPEND, [at, sealedSuccessor ?? null, id, kind])) === 1;
      // Locks the grant, so that a concurrent revocation is either complete or has not begun.
      const spent = await statements.get<SpentGrantRow>(find, [id, kind]);
      if (!spent) return { outcome: 'gone' };
      if (!won) return toSpent(spent);
      if (successor) await statements.run(INSERT_CREDENTIAL, toValues(successor));
      const grantNeededUntil = Math.max(neededUntil, successor?.expiresAt ?? 0);
      if (grantNeededUntil > Number(spent.needed_until)) {
        await statements.run(EXTEND_GRANT, [grantNeededUntil, spent.grant_id]);
      }
      return { outcome: 'redeemed' };
    });
}

const SPEND = `
  update gatehouse_credentials set consumed_at = ?, sealed_successor = ?
  where id = ? and kind = ? and consumed_at is null`;

const EXTEND_GRANT = 'update gatehouse_grants set needed_until = ? where id = ?';

interface SpentRow {
  readonly consumed_at: Integer;
  readonly sealed_successor: string | null;
}

interface SpentGrantRow extends SpentRow {
  readonly grant_id: string;
  readonly needed_until: Integer;
}

function toSpent(row: SpentRow): Redemption {
  return {
    outcome: 'spent',
    consumedAt: Number(row.consumed_at),
    sealedSuccessor: row.sealed_successor ?? undefined,
  };
}
