import type { Credential, Grant } from '../../../lib/contracts/index.ts';
import { correctedTime, timeValues } from '../clock.ts';
import type { Value } from '../statements.ts';
import { toOptionalNumber, toPayload, toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';
import { GRANT_IS_LIVE } from './revocations.ts';

const INTO_GRANTS = `
  insert into gatehouse_grants
    (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, sequence, needed_until)`;

/**
 * Its values are those of {@link toGrantValues}. Append the `from` clause of a query to insert a grant for each of its rows.
 *
 * It is needed by the database's clock, like its first credential.
 *
 * @param clock - that of the dialect
 */
export function intoGrants(clock: string): string {
  return `${INTO_GRANTS} select ?, ?, ?, ?, ?, ?, ?, ?, ${correctedTime(clock)}`;
}

export const INTO_CREDENTIALS: string = `
  insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor)`;

/** Its values are those of {@link toValues}. */
export const INSERT_CREDENTIAL: string = `${INTO_CREDENTIALS} values (?, ?, ?, ?, ?, ?, ?)`;

/** The same for each row of a query: append its `from` clause. */
export const INSERT_CREDENTIAL_FOR: string = `${INTO_CREDENTIALS} select ?, ?, ?, ?, ?, ?, ?`;

/**
 * The values of the first credential of a grant in SQL, for those of {@link toFirstValues}: it expires by the database's clock, so
 * that the clock of the node that issues a code does not shorten its minute on the others.
 *
 * @param clock - that of the dialect
 */
export function firstCredential(clock: string): string {
  return `?, ?, ?, ?, ${correctedTime(clock)}, ?, ?`;
}

// By a subquery, which PostgreSQL evaluates first and then reads one grant by its primary key. The plan of a join would depend on
// the number of grants, which PostgreSQL does not know before it has analyzed the table.
const OF_CREDENTIAL = 'g.id = (select grant_id from gatehouse_credentials where id = ? and kind = ?)';

/** Selects the grant of a credential with this id and kind, unless it was revoked or ended. */
export const LIVE_GRANT: string = `from gatehouse_grants g where ${OF_CREDENTIAL} and ${GRANT_IS_LIVE}`;

/** Selects the credential too; its id and its kind are bound twice. */
export const WITH_LIVE_GRANT: string = `
  from gatehouse_credentials c join gatehouse_grants g on ${OF_CREDENTIAL}
  where c.id = ? and c.kind = ? and ${GRANT_IS_LIVE}`;

/** The columns of a {@link GrantRow}, selected from `gatehouse_grants g`. */
export const GRANT_COLUMNS = `
  g.id as grant_id, g.user_id, g.client_id, g.scopes, g.created_at as grant_created_at,
  g.expires_at as grant_expires_at, g.revoked_at, g.sequence`;

export interface GrantRow {
  readonly grant_id: string;
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly grant_created_at: Integer;
  readonly grant_expires_at: Integer;
  readonly revoked_at: Integer | null;
  readonly sequence: Integer | null;
}

// In the column, an empty list is a grant without limit, and a list with a space, which no scope contains (RFC 6749 section 3.3), is
// one that is limited to no scope. Grants of running servers are stored so.
const WITHOUT_LIMIT = '[]';
const LIMITED_TO_NONE = '[" "]';

function toScopesColumn(scopes: Grant['scopes']): string {
  if (scopes === undefined) return WITHOUT_LIMIT;
  return scopes.length === 0 ? LIMITED_TO_NONE : JSON.stringify(scopes);
}

function toScopes(column: string): Grant['scopes'] {
  if (column === WITHOUT_LIMIT) return undefined;
  return column === LIMITED_TO_NONE ? [] : toStrings(column);
}

export function toGrant(row: GrantRow): Grant {
  return {
    id: row.grant_id,
    userId: row.user_id,
    clientId: row.client_id,
    scopes: toScopes(row.scopes),
    createdAt: Number(row.grant_created_at),
    expiresAt: Number(row.grant_expires_at),
    revokedAt: toOptionalNumber(row.revoked_at),
    sequence: Number(row.sequence),
  };
}

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

/** The values of {@link firstCredential}. */
export function toFirstValues(credential: Credential): Value[] {
  return toValues(credential).toSpliced(4, 1, ...timeValues(credential.expiresAt));
}

/** @param credential - the first one that is issued from the grant, which is stored at least until it has expired */
export function toGrantValues(grant: Grant, credential: Credential): Value[] {
  return [
    grant.id,
    grant.userId,
    grant.clientId,
    toScopesColumn(grant.scopes),
    grant.createdAt,
    grant.expiresAt,
    grant.revokedAt ?? null,
    grant.sequence,
    ...timeValues(Math.max(grant.expiresAt, credential.expiresAt)),
  ];
}
