import type { CredentialStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import {
  firstCredential,
  GRANT_COLUMNS,
  insertGrant,
  INTO_CREDENTIALS,
  toCredential,
  toFirstValues,
  toGrant,
  toGrantValues,
  WITH_LIVE_GRANT,
} from './credential-rows.ts';
import { toOptionalNumber } from './column-values.ts';
import type { Integer } from './column-values.ts';
import type { CredentialRow, GrantRow } from './credential-rows.ts';
import { redeemAtOnce, redeemInSteps } from './redemption.ts';
import { fromBasis, startInTransaction } from './start-grant.ts';

/** Authorization codes and refresh tokens. */
export function credentialStore(database: Database): CredentialStore {
  const startHere = startInTransaction(database);
  const { clock } = database.dialect;

  const start = `with started as (${insertGrant(clock)}) ${INTO_CREDENTIALS} select ${firstCredential(clock)}`;
  // `for key share` conflicts with deleting the consent or the session, but not with updating its last use or its expiry.
  const startOn = (from: string): string => `
    with basis as (select 1 ${from} for key share),
    started as (${insertGrant(clock)} from basis returning id)
    ${INTO_CREDENTIALS} select ${firstCredential(clock)} from started`;

  const find = `
    select c.id, c.kind, c.payload, c.expires_at, c.consumed_at, c.sealed_successor, ${clock} as clock, ${GRANT_COLUMNS}
    ${WITH_LIVE_GRANT}`;

  return {
    async start(grant, code, basis = {}) {
      if (!database.dialect.canChangeInQueries)
        return database.transaction(async (statements) => startHere(statements, grant, code, basis));
      const from = fromBasis(basis);
      const values = [...(from?.values ?? []), ...toGrantValues(grant, code), ...toFirstValues(code)];
      return (await database.run(from ? startOn(from.sql) : start, values)) > 0;
    },
    async find(kind, id) {
      const row = await database.get<FoundRow>(find, [id, kind, id, kind]);
      if (!row) return undefined;
      const credential = toCredential(row);
      const { consumedAt, expiresAt } = credential;
      const at = toOptionalNumber(row.clock) ?? Date.now();
      return {
        credential,
        grant: toGrant(row),
        expiresIn: expiresAt - Math.floor(at / 1000),
        spentFor: consumedAt === undefined ? undefined : at - consumedAt,
      };
    },
    redeem: database.dialect.canChangeInQueries ? redeemAtOnce(database) : redeemInSteps(database),
  };
}

type FoundRow = CredentialRow & GrantRow & { readonly clock: Integer | null };
