import type { CredentialStore, GrantBasis } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Value } from '../statements.ts';
import {
  INSERT_CREDENTIAL,
  INSERT_CREDENTIAL_FOR,
  INSERT_GRANT,
  INSERT_GRANT_FOR,
  toCredential,
  toGrantValues,
  toValues,
  WITH_LIVE_GRANT,
} from './credential-rows.ts';
import type { CredentialRow } from './credential-rows.ts';
import { GRANT_COLUMNS, toGrant } from './grants.ts';
import type { GrantRow } from './grants.ts';
import { redeemAtOnce, redeemInSteps } from './redemption.ts';

/** Authorization codes and refresh tokens. */
export function credentialStore(database: Database): CredentialStore {
  const { canChangeInQueries, forUpdate } = database.dialect;
  // SQLite's transactions run one after the other, so that there a row that was read stays.
  const isAlone = forUpdate === '';

  // A change and no lock, because a Galera cluster does not replicate locks: a removal on another member would not wait.
  const lockConsent = `
    update gatehouse_consents${database.dialect.primaryKeyHint} set lock_count = coalesce(lock_count, 0) + 1
    where user_id = ? and client_id = ? and created_at = ?`;

  return {
    async start(grant, code, basis = {}) {
      const grantValues = toGrantValues(grant, Math.max(grant.expiresAt, code.expiresAt));
      const { consent, sessionId } = basis;
      const from = fromBasis(canChangeInQueries || isAlone ? basis : { sessionId });
      if (canChangeInQueries) {
        const sql = from ? startOn(from.sql) : START;
        return (await database.run(sql, [...(from?.values ?? []), ...grantValues, ...toValues(code)])) > 0;
      }
      return database.transaction(async (statements) => {
        if (consent && !isAlone && (await statements.run(lockConsent, toKey(consent))) === 0) return false;
        const sql = from ? `${INSERT_GRANT_FOR} ${from.sql}${forUpdate}` : INSERT_GRANT;
        const isStarted = (await statements.run(sql, [...grantValues, ...(from?.values ?? [])])) > 0;
        if (isStarted) await statements.run(INSERT_CREDENTIAL, toValues(code));
        return isStarted;
      });
    },
    async find(kind, id) {
      const row = await database.get<CredentialRow & GrantRow>(FIND, [id, kind]);
      return row && { credential: toCredential(row), grant: toGrant(row) };
    },
    redeem: canChangeInQueries ? redeemAtOnce(database) : redeemInSteps(database),
  };
}

const START = `with started as (${INSERT_GRANT}) ${INSERT_CREDENTIAL}`;

// `for key share` conflicts with deleting the consent or the session, but not with updating its last use or its expiry.
const startOn = (from: string): string => `
  with basis as (select 1 ${from} for key share),
  started as (${INSERT_GRANT_FOR} from basis returning id)
  ${INSERT_CREDENTIAL_FOR} from started`;

/**
 * Selects the consent and the session on which a grant is based. They are locked until the grant is committed: a removal waits,
 * and then finds the grant and revokes it.
 */
function fromBasis({
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

const FIND = `
  select c.id, c.kind, c.payload, c.expires_at, c.consumed_at, c.sealed_successor, ${GRANT_COLUMNS}
  ${WITH_LIVE_GRANT}`;
