import type { Credential, Grant, GrantPrerequisites } from '../../contracts/index.ts';
import type { CoreSteps, Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Step, Value } from '../statements.ts';
import { UNLESS_USER_ENDED, USER_IS_NOT_ENDED } from '../ends.ts';
import { firstCredential, INTO_CREDENTIALS, intoGrants, toFirstValues, toGrantValues } from './grant-rows.ts';

type InsertGrant<T> = (grant: Grant, credential: Credential, prerequisites: GrantPrerequisites) => T;

/**
 * Makes the function that inserts a grant with its first credential. It resolves to `false` when one of the prerequisites has been
 * deleted, or the user was ended.
 */
export function grantInserter(database: Database): InsertGrant<Promise<boolean>> {
  if (database.dialect.canChangeInQueries) return insertAtOnce(database);
  const stepsOf = grantSteps(database.dialect);
  return async (...given) => (await database.runSteps(stepsOf(...given))) !== undefined;
}

/** By one statement, for databases that allow changes inside a query. */
function insertAtOnce({ dialect: { clock }, run }: Database): InsertGrant<Promise<boolean>> {
  // `for key share` conflicts with deleting the consent or the session, but not with updating its last use or its expiry.
  function insertFor(from: string | undefined, spends: GrantPrerequisites['spends']): string {
    const unless = from === undefined ? UNLESS_USER_ENDED : `from prerequisites where ${USER_IS_NOT_ENDED}`;
    return `
    with ${from === undefined ? '' : `prerequisites as (select 1 ${from} for key share),`}
    ${spends ? `spent as (delete from ${spends.table} where id = ? and exists (select 1 ${unless}) returning id),` : ''}
    inserted as (${intoGrants(clock)} ${spends ? 'from spent' : unless} returning id)
    ${INTO_CREDENTIALS} select ${firstCredential(clock)} from inserted`;
  }

  return async function insertGrant(grant, credential, prerequisites) {
    const from = fromPrerequisites(prerequisites);
    const { spends } = prerequisites;
    const toInsert = toGrantValues(grant, credential);
    const user = [grant.userId, grant.sequence];
    const values = [
      ...(from?.values ?? []),
      ...(spends ? [spends.id, ...user, ...toInsert] : [...toInsert, ...user]),
      ...toFirstValues(credential),
    ];
    return (await run(insertFor(from?.sql, spends), values)) > 0;
  };
}

/** Makes the function that returns the steps of a transaction that inserts a grant with its first credential. */
export function grantSteps({
  canChangeInQueries,
  clock,
  forUpdate,
  primaryKeyHint,
}: Dialect): CoreSteps['grantSteps'] {
  const into = intoGrants(clock);
  const insertCredential = `${INTO_CREDENTIALS} values (${firstCredential(clock)})`;
  // On SQLite, transactions run one after the other, so a row that was read stays as it is. On PostgreSQL, locks are enough.
  const needsNoChange = forUpdate === '' || canChangeInQueries;

  // The rows are changed instead of locked, because a Galera cluster does not replicate locks: a removal on another member would not
  // wait.
  const lockConsent = `
    update gatehouse_consents${primaryKeyHint} ${COUNT_LOCK} where user_id = ? and client_id = ? and created_at = ?`;
  const lockSession = `update gatehouse_sessions ${COUNT_LOCK} where id = ?`;

  function locksOf({ consent, sessionId }: GrantPrerequisites): Step[] {
    return [
      ...(consent ? [{ sql: lockConsent, values: toKey(consent), needs: 'change' } as const] : []),
      ...(sessionId === undefined
        ? []
        : [{ sql: lockSession, values: [sessionId], needs: 'change' } as const]),
    ];
  }

  return function stepsOf(grant, credential, prerequisites) {
    const from = needsNoChange ? fromPrerequisites(prerequisites) : undefined;
    const sql = from
      ? `${into} ${from.sql} and ${USER_IS_NOT_ENDED}${forUpdate}`
      : `${into} ${UNLESS_USER_ENDED}`;
    const values = [
      ...toGrantValues(grant, credential),
      ...(from?.values ?? []),
      grant.userId,
      grant.sequence,
    ];
    return [
      // First: of two grants that spend the same row, one waits here for the other, and then changes nothing.
      ...spendingOf(prerequisites),
      ...(needsNoChange ? [] : locksOf(prerequisites)),
      { sql, values, needs: 'change' },
      ...(credential ? [{ sql: insertCredential, values: toFirstValues(credential) }] : []),
    ];
  };
}

function spendingOf({ spends }: GrantPrerequisites): Step[] {
  return spends
    ? [{ sql: `delete from ${spends.table} where id = ?`, values: [spends.id], needs: 'change' }]
    : [];
}

const COUNT_LOCK = 'set lock_count = lock_count + 1';

/**
 * Selects the consent and the session that a grant depends on. They are locked until the grant is committed: a removal waits,
 * and then finds the grant and revokes it.
 */
function fromPrerequisites({
  consent,
  sessionId,
}: GrantPrerequisites): { readonly sql: string; readonly values: readonly Value[] } | undefined {
  const parts = [
    ...(consent ? [{ ...FROM_CONSENT, values: toKey(consent) }] : []),
    ...(sessionId === undefined ? [] : [{ ...FROM_SESSION, values: [sessionId] }]),
  ];
  if (parts.length === 0) return undefined;
  return {
    sql: `from ${parts.map(({ table }) => table).join(', ')} where ${parts.map(({ is }) => is).join(' and ')}`,
    values: parts.flatMap(({ values }) => values),
  };
}

const FROM_CONSENT = {
  table: 'gatehouse_consents c',
  is: 'c.user_id = ? and c.client_id = ? and c.created_at = ?',
};
const FROM_SESSION = { table: 'gatehouse_sessions s', is: 's.id = ?' };

function toKey({
  userId,
  clientId,
  createdAt,
}: NonNullable<GrantPrerequisites['consent']>): readonly Value[] {
  return [userId, clientId, createdAt];
}
