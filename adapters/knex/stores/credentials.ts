import type { CredentialStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import {
  FROM_AGREED,
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
import { GRANT_COLUMNS, toGrant } from './grant-rows.ts';
import type { GrantRow } from './grant-rows.ts';
import { redeemAtOnce } from './redeem-at-once.ts';
import { redeemInSteps } from './redeem-in-steps.ts';

/** Authorization codes and refresh tokens. */
export function credentialStore(database: Database): CredentialStore {
  const { canChangeInQueries, forUpdate } = database.dialect;
  // The lock keeps the consent from being removed until the grant can be seen, and so revoked.
  const insertAgreedGrant = `${INSERT_GRANT_FOR} ${FROM_AGREED}${forUpdate}`;

  return {
    async start(grant, code, agreed) {
      const agreedValues = agreed ? [agreed.userId, agreed.clientId, agreed.createdAt] : [];
      const grantValues = toGrantValues(grant, Math.max(grant.expiresAt, code.expiresAt));
      if (canChangeInQueries) {
        const sql = agreed ? START_AGREED : START;
        return (await database.run(sql, [...agreedValues, ...grantValues, ...toValues(code)])) > 0;
      }
      return database.transaction(async (statements) => {
        const sql = agreed ? insertAgreedGrant : INSERT_GRANT;
        const isStarted = (await statements.run(sql, [...grantValues, ...agreedValues])) > 0;
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

// What only notes the consent's last use does not wait for this lock, and this one not for it.
const START_AGREED = `
  with agreed as (select user_id ${FROM_AGREED} for key share),
  started as (${INSERT_GRANT_FOR} from agreed returning id)
  ${INSERT_CREDENTIAL_FOR} from started`;

const FIND = `
  select c.id, c.kind, c.payload, c.expires_at, c.consumed_at, c.sealed_successor, ${GRANT_COLUMNS}
  ${WITH_LIVE_GRANT}`;
