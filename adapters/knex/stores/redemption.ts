import type { GrantStore, Redemption } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Integer } from './column-values.ts';
import { CREDENTIALS, LIVE_GRANT, WITH_LIVE_GRANT } from './grant-rows.ts';

/**
 * Spends a credential in one statement, for databases that allow changes inside a query.
 *
 * The statement takes one round trip. A transaction of several statements would take six, with the grant locked meanwhile.
 */
export function redeemAtOnce(database: Database): GrantStore['redeem'] {
  const redeem = `with ${steps(database.dialect)} select grant_id from spent`;
  const redeemForSuccessor = `
    with ${steps(database.dialect)}, saved as (${CREDENTIALS.insertFor()} from spent) select grant_id from spent`;

  return async ({ kind, id }, { successor, sealedSuccessor, neededUntil = 0, sessionUid = null }) => {
    const grantNeededUntil = Math.max(neededUntil, successor?.expiresAt ?? 0);
    const values = [
      id,
      kind,
      sessionUid,
      Date.now(),
      sealedSuccessor ?? null,
      successor?.id ?? null,
      id,
      kind,
      grantNeededUntil,
      grantNeededUntil,
    ];
    const winner = successor
      ? await database.get(redeemForSuccessor, [...values, ...CREDENTIALS.values(successor)])
      : await database.get(redeem, values);
    if (winner) return { outcome: 'redeemed' };
    // The statement's snapshot is older than the winner's commit, so the winner's values need a second query.
    const spent = await database.get<SpentRow>(FIND_SPENT, [id, kind, id, kind]);
    if (!spent) return { outcome: 'gone' };
    return toSpent(spent);
  };
}

// A condition on a grant `g`: it is of a login session that has not ended, unless no session is given.
const OF_SESSION = `coalesce(g.session_uid, '') = coalesce(?, g.session_uid, '')`;

// Concurrent redemptions wait for the lock of the grant. PostgreSQL then checks the conditions again on the current rows: the
// first redemption finds the credential unspent, the others find it spent, and after a revocation none finds the grant.
const steps = ({ clock }: Dialect): string => `
  live as (
    select g.id ${LIVE_GRANT} and ${OF_SESSION} for update
  ),
  spent as (
    update gatehouse_credentials c
    set consumed_at = coalesce(${clock}, ?), sealed_successor = ?, successor_id = ? from live
    where c.id = ? and c.kind = ? and c.grant_id = live.id and c.consumed_at is null
    returning c.grant_id
  ),
  extended as (
    update gatehouse_grants g set needed_until = ? from spent
    where g.id = spent.grant_id and g.needed_until < ?
  )`;

// A lock is written to the log, so this call waits for a synchronous standby as the winner's does. A winner whose wait was
// cancelled is visible here; its successor must not be handed out before the standby has it.
const FIND_SPENT = `
  select c.sealed_successor ${WITH_LIVE_GRANT} and c.consumed_at is not null for share of c`;

/** Spends a credential in a transaction, step by step. */
export function redeemInSteps(database: Database): GrantStore['redeem'] {
  const { clock, forUpdate, returnsUpdatedRows } = database.dialect;
  const spend = `
    update gatehouse_credentials
    set consumed_at = coalesce(${clock}, ?), sealed_successor = ?, successor_id = ?
    where id = ? and kind = ? and consumed_at is null`;
  const spendOfLiveGrant = `${spend} and exists (select 1 ${LIVE_GRANT} and ${OF_SESSION}) returning ${SPENT_COLUMNS}`;
  const find = `
    select c.sealed_successor, g.id as grant_id, g.needed_until
    ${WITH_LIVE_GRANT} and ${OF_SESSION}${forUpdate}`;

  return async ({ kind, id }, { successor, sealedSuccessor, neededUntil = 0, sessionUid = null }) =>
    database.transaction(async (statements): Promise<Redemption> => {
      const values = [Date.now(), sealedSuccessor ?? null, successor?.id ?? null, id, kind];
      // One conditional write: of concurrent redemptions one changes the row; the others wait here and then change none.
      const won = returnsUpdatedRows
        ? await statements.get<SpentGrantRow>(spendOfLiveGrant, [...values, id, kind, sessionUid])
        : (await statements.run(spend, values)) === 1;
      // Locks the grant, so that a concurrent revocation is either complete or has not begun.
      const spent =
        typeof won === 'object'
          ? won
          : await statements.get<SpentGrantRow>(find, [id, kind, id, kind, sessionUid]);
      if (!spent) return { outcome: 'gone' };
      if (!won) return toSpent(spent);
      if (successor) await statements.run(CREDENTIALS.insert, CREDENTIALS.values(successor));
      const grantNeededUntil = Math.max(neededUntil, successor?.expiresAt ?? 0);
      if (grantNeededUntil > Number(spent.needed_until)) {
        await statements.run(EXTEND_GRANT, [grantNeededUntil, spent.grant_id]);
      }
      return { outcome: 'redeemed' };
    });
}

const SPENT_COLUMNS = `
  sealed_successor, grant_id,
  (select needed_until from gatehouse_grants where id = gatehouse_credentials.grant_id) as needed_until`;

const EXTEND_GRANT = 'update gatehouse_grants set needed_until = ? where id = ?';

interface SpentRow {
  readonly sealed_successor: string | null;
}

interface SpentGrantRow extends SpentRow {
  readonly grant_id: string;
  readonly needed_until: Integer;
}

function toSpent(row: SpentRow): Redemption {
  return {
    outcome: 'spent',
    sealedSuccessor: row.sealed_successor ?? undefined,
  };
}
