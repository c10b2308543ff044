import type { Credential, GrantStore } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Step, Value } from '../statements.ts';
import { CREDENTIALS, LIVE_GRANT, OF_CREDENTIAL, WITH_LIVE_GRANT } from './grant-rows.ts';

/** Makes the function that spends a credential. */
export function redeemer(database: Database): GrantStore['redeem'] {
  const spend = database.dialect.canChangeInQueries ? spendAtOnce(database) : spendInTurn(database);
  // A lock is written to the log, so this call waits for a synchronous standby as the winner's does. A winner whose wait was
  // cancelled is visible here; its successor must not be handed out before the standby has it.
  const lock = database.dialect.confirmation === undefined ? '' : ' for share of c';
  const findSpent = `select c.sealed_successor ${WITH_LIVE_GRANT} and c.consumed_at is not null${lock}`;

  return async ({ kind, id }, { successor, sealedSuccessor, neededUntil = 0, sessionUid }) => {
    const isWon = await spend([id, kind], {
      assigned: [Date.now(), sealedSuccessor ?? null, successor?.id ?? null],
      successor,
      neededUntil: Math.max(neededUntil, successor?.expiresAt ?? 0),
      sessionUid: sessionUid ?? null,
    });
    if (isWon) return { outcome: 'redeemed' };
    // Nothing that the winner has committed meanwhile is visible in the snapshot of a statement that waited for it.
    const row = await database.get<SpentRow>(findSpent, [id, kind, id, kind]);
    if (!row) return { outcome: 'gone' };
    return { outcome: 'spent', sealedSuccessor: row.sealed_successor ?? undefined };
  };
}

interface SpentRow {
  readonly sealed_successor: string | null;
}

/** Resolves to whether this call has spent the credential. */
type Spend = (
  key: readonly [id: string, kind: string],
  exchange: {
    /** The values of {@link assignSpent}. */
    readonly assigned: readonly Value[];
    readonly successor: Credential | undefined;
    readonly neededUntil: number;
    readonly sessionUid: string | null;
  },
) => Promise<boolean>;

// A condition on a grant `g`: the login session with the given id, which began the grant, has not ended. Without an id, every grant meets
// it.
const OF_SESSION = `coalesce(g.session_uid, '') = coalesce(?, g.session_uid, '')`;

const assignSpent = (clock: string): string =>
  `set consumed_at = coalesce(${clock}, ?), sealed_successor = ?, successor_id = ?`;

/**
 * In one statement, for databases that allow changes inside a query.
 *
 * The statement takes one round trip. A transaction of several statements would take six, with the grant locked meanwhile.
 */
function spendAtOnce(database: Database): Spend {
  const redeem = `with ${partsOf(database.dialect)} select grant_id from spent`;
  const redeemForSuccessor = `
    with ${partsOf(database.dialect)}, saved as (${CREDENTIALS.insertFor()} from spent) select grant_id from spent`;

  return async (key, { assigned, successor, neededUntil, sessionUid }) => {
    const values = [...key, sessionUid, ...assigned, ...key, neededUntil, neededUntil];
    const winner = successor
      ? await database.get(redeemForSuccessor, [...values, ...CREDENTIALS.values(successor)])
      : await database.get(redeem, values);
    return winner !== undefined;
  };
}

// Concurrent redemptions wait for the lock of the grant. PostgreSQL then checks the conditions again on the current rows: the
// first redemption finds the credential unspent, the others find it spent, and after a revocation none finds the grant.
const partsOf = ({ clock }: Dialect): string => `
  live as (
    select g.id ${LIVE_GRANT} and ${OF_SESSION} for update
  ),
  spent as (
    update gatehouse_credentials c ${assignSpent(clock)} from live
    where c.id = ? and c.kind = ? and c.grant_id = live.id and c.consumed_at is null
    returning c.grant_id
  ),
  extended as (
    update gatehouse_grants g set needed_until = ? from spent
    where g.id = spent.grant_id and g.needed_until < ?
  )`;

/** In the steps of a transaction. */
function spendInTurn(database: Database): Spend {
  const { clock, forUpdate, returnsUpdatedRows } = database.dialect;
  // One conditional write: of concurrent redemptions one changes the row; the others wait here and then change none.
  const spend = `
    update gatehouse_credentials ${assignSpent(clock)}
    where id = ? and kind = ? and consumed_at is null`;
  const spendOfLiveGrant = `
    ${spend} and exists (select 1 ${LIVE_GRANT} and ${OF_SESSION})
    returning (select needed_until from gatehouse_grants where id = gatehouse_credentials.grant_id) as needed_until`;
  // Locks the grant, so that a concurrent revocation is either complete or has not begun.
  const lockGrant = `select g.needed_until ${LIVE_GRANT} and ${OF_SESSION}${forUpdate}`;

  return async (key, { assigned, successor, neededUntil, sessionUid }) => {
    const first: Step[] = returnsUpdatedRows
      ? [{ sql: spendOfLiveGrant, values: [...assigned, ...key, ...key, sessionUid], needs: 'row' }]
      : [
          { sql: spend, values: [...assigned, ...key], needs: 'change' },
          { sql: lockGrant, values: [...key, sessionUid], needs: 'row' },
        ];
    const row = await database.runSteps([
      ...first,
      ...(successor ? [{ sql: CREDENTIALS.insert, values: CREDENTIALS.values(successor) }] : []),
      {
        sql: EXTEND_GRANT,
        values: [neededUntil, ...key, neededUntil],
        skipIf: ({ needed_until: until }) => Number(until) >= neededUntil,
      },
    ]);
    return row !== undefined;
  };
}

const EXTEND_GRANT = `
  update gatehouse_grants as g set needed_until = ? where ${OF_CREDENTIAL} and g.needed_until < ?`;
