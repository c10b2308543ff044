import type { CredentialStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
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
import { fromBasis, startInTransaction } from './start-grant.ts';

/** Authorization codes and refresh tokens. */
export function credentialStore(database: Database): CredentialStore {
  const startHere = startInTransaction(database);

  return {
    async start(grant, code, basis = {}) {
      if (!database.dialect.canChangeInQueries)
        return database.transaction(async (statements) => startHere(statements, grant, code, basis));
      const from = fromBasis(basis);
      const values = [...(from?.values ?? []), ...toGrantValues(grant, code), ...toValues(code)];
      return (await database.run(from ? startOn(from.sql) : START, values)) > 0;
    },
    async find(kind, id) {
      const row = await database.get<CredentialRow & GrantRow>(FIND, [id, kind]);
      return row && { credential: toCredential(row), grant: toGrant(row) };
    },
    redeem: database.dialect.canChangeInQueries ? redeemAtOnce(database) : redeemInSteps(database),
  };
}

const START = `with started as (${INSERT_GRANT}) ${INSERT_CREDENTIAL}`;

// `for key share` conflicts with deleting the consent or the session, but not with updating its last use or its expiry.
const startOn = (from: string): string => `
  with basis as (select 1 ${from} for key share),
  started as (${INSERT_GRANT_FOR} from basis returning id)
  ${INSERT_CREDENTIAL_FOR} from started`;

const FIND = `
  select c.id, c.kind, c.payload, c.expires_at, c.consumed_at, c.sealed_successor, ${GRANT_COLUMNS}
  ${WITH_LIVE_GRANT}`;
