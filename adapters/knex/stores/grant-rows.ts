import type { Grant } from '../../../lib/contracts/index.ts';
import { toOptionalNumber, toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** What a {@link GrantRow} is selected by, from `gatehouse_grants g`. */
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

export function toGrant(row: GrantRow): Grant {
  return {
    id: row.grant_id,
    userId: row.user_id,
    clientId: row.client_id,
    scopes: toStrings(row.scopes),
    createdAt: Number(row.grant_created_at),
    expiresAt: Number(row.grant_expires_at),
    revokedAt: toOptionalNumber(row.revoked_at),
    sequence: Number(row.sequence),
  };
}
