import type { Credential, Grant, GrantPrerequisites } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
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
  return async (...given) => (await database.inTurn(stepsOf(...given))) !== undefined;
}

/** By one statement, for databases that allow changes inside a query. */
function insertAtOnce({ dialect: { clock }, run }: Database): InsertGrant<Promise<boolean>> {
  // `for key share` conflicts with deleting the consent or the session, but not with updating its last use or its expiry.
  const insertFor = (from: string | undefined): string => `
    with ${from === undefined ? '' : `prerequisites as (select 1 ${from} for key share),`}
    inserted as (
      ${intoGrants(clock)} ${from === undefined ? UNLESS_USER_ENDED : `from prerequisites where ${USER_IS_NOT_ENDED}`}
      returning id
    )
    ${INTO_CREDENTIALS} select ${firstCredential(clock)} from inserted`;

  return async function insertGrant(grant, credential, prerequisites) {
    const from = fromPrerequisites(prerequisites);
    const values = [
      ...(from?.values ?? []),
      ...toGrantValues(grant, credential),
      grant.userId,
      grant.sequence,
      ...toFirstValues(credential),
    ];
    return (await run(insertFor(from?.sql), values)) > 0;
  };
}

/** Makes the function that returns the steps of a transaction that does so. */
export function grantSteps({
  canChangeInQueries,
  clock,
  forUpdate,
  primaryKeyHint,
}: Dialect): InsertGrant<readonly Step[]> {
  const into = intoGrants(clock);
  const insertCredential = `${INTO_CREDENTIALS} values (${firstCredential(clock)})`;
  // SQLite's transactions run one after the other, so that there a row that was read stays. PostgreSQL's locks are enough.
  const needsNoChange = forUpdate === '' || canChangeInQueries;

  // Changes and no locks, because a Galera cluster does not replicate locks: a removal on another member would not wait.
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
      ...(needsNoChange ? [] : locksOf(prerequisites)),
      { sql, values, needs: 'change' },
      { sql: insertCredential, values: toFirstValues(credential) },
    ];
  };
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
