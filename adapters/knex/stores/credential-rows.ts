import type { Credential, Grant } from '../../../lib/contracts/index.ts';
import type { Value } from '../statements.ts';
import { toOptionalNumber, toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';
import type { GrantRow } from './grants.ts';
import { GRANT_NOT_ENDED } from './revocations.ts';

const INTO_GRANTS = `
  insert into gatehouse_grants
    (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, sequence, needed_until)`;

/** Its values are those of {@link toGrantValues}. */
export const INSERT_GRANT: string = `${INTO_GRANTS} values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The same for each row of a query: append its `from` clause. */
export const INSERT_GRANT_FOR: string = `${INTO_GRANTS} select ?, ?, ?, ?, ?, ?, ?, ?, ?`;

const INTO_CREDENTIALS = `
  insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor)`;

/** Its values are those of {@link toValues}. */
export const INSERT_CREDENTIAL: string = `${INTO_CREDENTIALS} values (?, ?, ?, ?, ?, ?, ?)`;

/** The same for each row of a query: append its `from` clause. */
export const INSERT_CREDENTIAL_FOR: string = `${INTO_CREDENTIALS} select ?, ?, ?, ?, ?, ?, ?`;

/** Selects a credential by its id and kind, unless its grant was revoked or ended. */
export const WITH_LIVE_GRANT: string = `
  from gatehouse_credentials c join gatehouse_grants g on g.id = c.grant_id and g.revoked_at is null
  where c.id = ? and c.kind = ? and ${GRANT_NOT_ENDED}`;

export interface CredentialRow {
  readonly id: string;
  readonly kind: Credential['kind'];
  readonly payload: string;
  readonly expires_at: Integer;
  readonly consumed_at: Integer | null;
  readonly sealed_successor: string | null;
}

export function toCredential(row: CredentialRow & GrantRow): Credential {
  return {
    kind: row.kind,
    id: row.id,
    grantId: row.grant_id,
    payload: toPayload(row.payload),
    expiresAt: Number(row.expires_at),
    consumedAt: toOptionalNumber(row.consumed_at),
    sealedSuccessor: row.sealed_successor ?? undefined,
  };
}

export function toValues(credential: Credential): Value[] {
  return [
    credential.id,
    credential.kind,
    credential.grantId,
    JSON.stringify(credential.payload),
    credential.expiresAt,
    credential.consumedAt ?? null,
    credential.sealedSuccessor ?? null,
  ];
}

/** @param credential - the first one that is issued from the grant, which is stored at least until it has expired */
export function toGrantValues(grant: Grant, credential: Credential): Value[] {
  return [
    grant.id,
    grant.userId,
    grant.clientId,
    JSON.stringify(grant.scopes),
    grant.createdAt,
    grant.expiresAt,
    grant.revokedAt ?? null,
    grant.sequence,
    Math.max(grant.expiresAt, credential.expiresAt),
  ];
}
