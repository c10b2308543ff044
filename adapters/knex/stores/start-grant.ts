import type { Credential, Grant, GrantBasis } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements, Value } from '../statements.ts';
import {
  firstCredential,
  insertGrant,
  INTO_CREDENTIALS,
  toFirstValues,
  toGrantValues,
} from './credential-rows.ts';

/** Inserts a grant with its first credential. Resolves to `false` when a row of the basis has been deleted. */
export type StartGrant = (
  statements: Statements,
  grant: Grant,
  credential: Credential,
  basis: GrantBasis,
) => Promise<boolean>;

/** Makes the function that does so by several statements of a transaction. */
export function startInTransaction({ dialect }: Pick<Database, 'dialect'>): StartGrant {
  const { canChangeInQueries, clock, forUpdate, primaryKeyHint } = dialect;
  const insert = insertGrant(clock);
  const insertCredential = `${INTO_CREDENTIALS} values (${firstCredential(clock)})`;
  // SQLite's transactions run one after the other, so that there a row that was read stays. PostgreSQL's locks are enough.
  const needsNoChange = forUpdate === '' || canChangeInQueries;

  // A change and no lock, because a Galera cluster does not replicate locks: a removal on another member would not wait.
  const lockConsent = `
    update gatehouse_consents${primaryKeyHint} set lock_count = coalesce(lock_count, 0) + 1
    where user_id = ? and client_id = ? and created_at = ?`;

  return async function startGrant(statements, grant, credential, basis) {
    const { consent, sessionId } = basis;
    if (consent && !needsNoChange && (await statements.run(lockConsent, toKey(consent))) === 0) return false;
    const from = fromBasis(needsNoChange ? basis : { sessionId });
    const sql = from ? `${insert} ${from.sql}${forUpdate}` : insert;
    const values = [...toGrantValues(grant, credential), ...(from?.values ?? [])];
    const isStarted = (await statements.run(sql, values)) > 0;
    if (isStarted) await statements.run(insertCredential, toFirstValues(credential));
    return isStarted;
  };
}

/**
 * Selects the consent and the session on which a grant is based. They are locked until the grant is committed: a removal waits,
 * and then finds the grant and revokes it.
 */
export function fromBasis({
  consent,
  sessionId,
}: GrantBasis): { readonly sql: string; readonly values: readonly Value[] } | undefined {
  const consentValues = consent ? toKey(consent) : [];
  const sessionValues = sessionId === undefined ? [] : [sessionId];
  if (consent && sessionId !== undefined)
    return { sql: FROM_BOTH, values: [...consentValues, ...sessionValues] };
  if (consent) return { sql: FROM_CONSENT, values: consentValues };
  return sessionId === undefined ? undefined : { sql: FROM_SESSION, values: sessionValues };
}

const IS_CONSENT = 'c.user_id = ? and c.client_id = ? and c.created_at = ?';
const FROM_CONSENT = `from gatehouse_consents c where ${IS_CONSENT}`;
const FROM_SESSION = 'from gatehouse_sessions s where s.id = ?';
const FROM_BOTH = `from gatehouse_consents c, gatehouse_sessions s where ${IS_CONSENT} and s.id = ?`;

function toKey({ userId, clientId, createdAt }: NonNullable<GrantBasis['consent']>): readonly Value[] {
  return [userId, clientId, createdAt];
}
