import { toSortName } from '../../../lib/contracts/client-search.ts';
import type { Client, ClientSecret, StoredClient } from '../../../lib/contracts/index.ts';
import type { Value } from '../statements.ts';
import { toOptionalNumber, toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** The columns of a client but its id, in the order of {@link toClientValues}. */
export const CLIENT_COLUMNS: readonly string[] = [
  'name',
  'sort_name',
  'grant_type',
  'redirect_uris',
  'confidential',
  'native',
  'first_party',
  'scopes',
  'roles',
  'permissions',
  'owner_id',
  'disabled',
  'disabled_by',
  'lifetimes',
  'registration',
  'public_keys',
  'created_at',
  'updated_at',
];

/** All columns, of the alias `c`. */
export const SELECTED: string = ['id', ...CLIENT_COLUMNS].map((column) => `c.${column}`).join(', ');

export interface ClientRow {
  readonly id: string;
  readonly name: string;
  readonly grant_type: Client['grantType'];
  readonly redirect_uris: string;
  readonly confidential: number;
  readonly native: number;
  readonly first_party: number;
  readonly scopes: string | null;
  readonly roles: string;
  readonly permissions: string;
  readonly owner_id: string | null;
  readonly disabled: number;
  readonly disabled_by: string | null;
  readonly lifetimes: string | null;
  readonly registration: Client['registration'] | null;
  readonly public_keys: string | null;
  readonly created_at: Integer;
  readonly updated_at: Integer;
}

/** A client joined with one of its secrets, or with nulls when it has none. */
export interface ClientSecretRow extends ClientRow {
  readonly secret_id: string | null;
  readonly secret_hash: string;
  readonly secret_label: string;
  readonly secret_hint: string;
  readonly secret_created_at: Integer;
  readonly secret_expires_at: Integer | null;
  readonly secret_last_used_at: Integer | null;
  readonly sequence: Integer | null;
  readonly all_sequence: Integer | null;
}

export function toStoredClient(rows: readonly ClientSecretRow[]): StoredClient | undefined {
  const [first] = rows;
  if (!first) return undefined;
  return {
    client: toClient(first),
    secrets: rows.flatMap(toSecrets).toSorted(byAge),
    sequence: Math.max(Number(first.sequence), Number(first.all_sequence)),
  };
}

// Sorted here, because for an `order by` MariaDB creates a temporary table, which takes longer than the query.
function byAge(a: ClientSecret, b: ClientSecret): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}

export function toClient(row: ClientRow): Client {
  return {
    id: row.id,
    name: row.name,
    registration: row.registration ?? 'manual',
    grantType: row.grant_type,
    redirectUris: toStrings(row.redirect_uris),
    confidential: row.confidential === 1,
    keys: row.public_keys === null ? undefined : (JSON.parse(row.public_keys) as Client['keys']),
    native: row.native === 1,
    firstParty: row.first_party === 1,
    scopes: row.scopes === null ? undefined : toStrings(row.scopes),
    roles: toStrings(row.roles),
    permissions: toStrings(row.permissions),
    ownerId: row.owner_id ?? undefined,
    disabled: row.disabled === 1,
    disabledBy: row.disabled_by ?? undefined,
    lifetimes: row.lifetimes === null ? {} : (JSON.parse(row.lifetimes) as Client['lifetimes']),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}

function toSecrets(row: ClientSecretRow): ClientSecret[] {
  if (row.secret_id === null) return [];
  return [
    {
      id: row.secret_id,
      hash: row.secret_hash,
      label: row.secret_label,
      hint: row.secret_hint,
      createdAt: Number(row.secret_created_at),
      expiresAt: toOptionalNumber(row.secret_expires_at),
      lastUsedAt: toOptionalNumber(row.secret_last_used_at),
    },
  ];
}

export function toClientValues(client: Client): Value[] {
  return [
    client.name,
    toSortName(client.name),
    client.grantType,
    JSON.stringify(client.redirectUris),
    Number(client.confidential),
    Number(client.native),
    Number(client.firstParty),
    client.scopes ? JSON.stringify(client.scopes) : null,
    JSON.stringify(client.roles),
    JSON.stringify(client.permissions),
    client.ownerId ?? null,
    Number(client.disabled),
    client.disabledBy ?? null,
    JSON.stringify(client.lifetimes),
    client.registration,
    client.keys ? JSON.stringify(client.keys) : null,
    client.createdAt,
    client.updatedAt,
  ];
}

export function toSecretValues(clientId: string, secret: ClientSecret): Value[] {
  return [
    clientId,
    secret.id,
    secret.hash,
    secret.label,
    secret.hint,
    secret.createdAt,
    secret.expiresAt ?? null,
    secret.lastUsedAt ?? null,
  ];
}
