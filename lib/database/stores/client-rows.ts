import type { Client, StoredSecret, FurtherClientFields, StoredClient } from '../../contracts/index.ts';
import { FEATURE_CLIENT_FIELDS } from '../../features/tables.ts';
import type { Column, Integer, Row, RowMapping } from '../rows.ts';
import { flag, integer, json, mapRows, optional, text } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/** A client without its default scopes, which come from its source and are not stored. */
type ClientRow = Omit<Client, 'defaultScopes'>;

// Their types are those that features declare.
const FURTHER = Object.fromEntries(
  FEATURE_CLIENT_FIELDS.map(({ column, isList, name }) => [
    name,
    isList ? json(column) : optional(text(column)),
  ]),
) as object as { readonly [M in keyof FurtherClientFields]-?: Column<FurtherClientFields[M]> };

export const CLIENT_ROW: RowMapping<ClientRow> = mapRows<ClientRow>(CORE_TABLES.clients, {
  id: text('id'),
  name: text('name'),
  clientUri: optional(text('client_uri')),
  logoHash: optional(text('logo')),
  verified: flag('verified'),
  source: text('source'),
  grantType: text('grant_type'),
  redirectUris: json('redirect_uris'),
  ...FURTHER,
  confidential: flag('confidential'),
  keys: optional(json('public_keys')),
  native: flag('native'),
  firstParty: flag('first_party'),
  scopes: optional(json('scopes')),
  roles: json('roles'),
  permissions: json('permissions'),
  ownerId: optional(text('owner_id')),
  disabled: flag('disabled'),
  disabledBy: optional(text('disabled_by')),
  lifetimes: json('lifetimes'),
  createdAt: integer('created_at'),
  updatedAt: integer('updated_at'),
});

export const CLIENT_ROW_AS_C: Pick<RowMapping<ClientRow>, 'columns' | 'read'> = CLIENT_ROW.of('c');

export const SECRET_ROW: RowMapping<StoredSecret> = mapRows<StoredSecret>(CORE_TABLES.clientSecrets, {
  id: text('id'),
  hash: text('hash'),
  label: text('label'),
  hint: text('hint'),
  createdAt: integer('created_at'),
  expiresAt: optional(integer('expires_at')),
  lastUsedAt: optional(integer('last_used_at')),
});

export const SECRET_ROW_AS_S: Pick<RowMapping<StoredSecret>, 'columns' | 'read'> = SECRET_ROW.of(
  's',
  'secret_',
);

/** A client joined with one of its secrets, or with nulls when it has none. */
export interface StoredClientRow extends Row {
  readonly secret_id: string | null;
  readonly sequence: Integer | null;
  readonly all_sequence: Integer | null;
}

export function toStoredClient(rows: readonly StoredClientRow[]): StoredClient | undefined {
  const [first] = rows;
  if (!first) return undefined;
  return {
    client: CLIENT_ROW_AS_C.read(first),
    secrets: rows
      .filter(({ secret_id: id }) => id !== null)
      .map(SECRET_ROW_AS_S.read)
      .toSorted(byAge),
    sequence: Math.max(Number(first.sequence), Number(first.all_sequence)),
  };
}

// Sorted here, because for an `order by` MariaDB creates a temporary table, which takes longer than the query.
function byAge(a: StoredSecret, b: StoredSecret): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}
