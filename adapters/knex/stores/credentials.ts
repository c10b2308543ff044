import type { CredentialStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import {
  INSERT_CREDENTIAL,
  INSERT_GRANT,
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
  const { canChangeInQueries } = database.dialect;
  return {
    async start(grant, code) {
      const grantValues = toGrantValues(grant, Math.max(grant.expiresAt, code.expiresAt));
      if (canChangeInQueries) {
        await database.run(START, [...grantValues, ...toValues(code)]);
        return;
      }
      await database.transaction(async (statements) => {
        await statements.run(INSERT_GRANT, grantValues);
        await statements.run(INSERT_CREDENTIAL, toValues(code));
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

const FIND = `
  select c.id, c.kind, c.payload, c.expires_at, c.consumed_at, c.sealed_successor, ${GRANT_COLUMNS}
  ${WITH_LIVE_GRANT}`;
