import type { Credential, Grant, GrantOrigin, UsableGrant } from '../../contracts/index.ts';
import { correctedTime, timeValues } from '../clock.ts';
import type { Value } from '../statements.ts';
import { GRANT_IS_LIVE } from './revocations.ts';
import { integer, json, mapRows, optional, text } from '../rows.ts';
import type { RowMapping } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/**
 * An insert of {@link toGrantValues}. Append the `from` clause of a query to insert a grant for each of its rows.
 *
 * The database's clock decides until when the row is needed, as for the first credential.
 *
 * @param clock - `Dialect.clock`
 */
export function intoGrants(clock: string): string {
  return `insert into gatehouse_grants (${GRANTS.columns}, needed_until)
    select ${GRANTS.names.map(() => '?').join(', ')}, ${correctedTime(clock)}`;
}

/**
 * The first credential of a grant in SQL, for the values of {@link toFirstValues}. The credential expires by the database's clock, so
 * that the clock of the node that issues a code does not shorten the code's minute on other nodes.
 *
 * @param clock - `Dialect.clock`
 */
export function firstCredential(clock: string): string {
  return `?, ?, ?, ?, ${correctedTime(clock)}, ?, ?`;
}

// PostgreSQL evaluates the subquery first, and then reads one grant by its primary key. The plan of a join would depend on the number of
// grants, which PostgreSQL does not know before it has analyzed the table.
export const OF_CREDENTIAL = 'g.id = (select grant_id from gatehouse_credentials where id = ? and kind = ?)';

/** Selects the grant of a credential with this id and kind, unless it was revoked or ended. */
export const LIVE_GRANT: string = `from gatehouse_grants g where ${OF_CREDENTIAL} and ${GRANT_IS_LIVE}`;

/** Selects the credential too; its id and its kind are bound twice. */
export const WITH_LIVE_GRANT: string = `
  from gatehouse_credentials c join gatehouse_grants g on ${OF_CREDENTIAL}
  where c.id = ? and c.kind = ? and ${GRANT_IS_LIVE}`;

const GRANT_COLUMNS = {
  id: text('id'),
  userId: text('user_id'),
  clientId: text('client_id'),
  scopes: optional(json<readonly string[]>('scopes')),
  createdAt: integer('created_at'),
  expiresAt: integer('expires_at'),
  revokedAt: optional(integer('revoked_at')),
  sequence: integer('sequence'),
  origin: optional(json<GrantOrigin>('origin')),
  sessionUid: optional(text('session_uid')),
} as const;

export const GRANTS: RowMapping<Grant> = mapRows<Grant>(CORE_TABLES.grants, GRANT_COLUMNS);

export const USABLE_GRANTS: RowMapping<UsableGrant> = mapRows<UsableGrant>(CORE_TABLES.grants, {
  ...GRANT_COLUMNS,
  lastUsedAt: optional(integer('last_used_at')),
});

export const CREDENTIALS: RowMapping<Credential> = mapRows<Credential>(CORE_TABLES.credentials, {
  id: text('id'),
  kind: text('kind'),
  grantId: text('grant_id'),
  payload: json('payload'),
  expiresAt: integer('expires_at'),
  consumedAt: optional(integer('consumed_at')),
  sealedSuccessor: optional(text('sealed_successor')),
});

/** The values of {@link firstCredential}. */
export function toFirstValues(credential: Credential): Value[] {
  const expiry = CREDENTIALS.names.indexOf('expires_at');
  return CREDENTIALS.values(credential).toSpliced(expiry, 1, ...timeValues(credential.expiresAt));
}

/** @param credential - the first credential of the grant, which is stored at least until this credential has expired; some have none */
export function toGrantValues(grant: Grant, credential: Credential | undefined): Value[] {
  const neededUntil = Math.max(grant.expiresAt, credential?.expiresAt ?? 0);
  return [...GRANTS.values(grant), ...timeValues(neededUntil)];
}

export const INTO_CREDENTIALS: string = `insert into gatehouse_credentials (${CREDENTIALS.columns})`;
