import type { Knex } from 'knex';

import { ConfigError, GatehouseError, StorageError } from '../../lib/errors.ts';
import { codeOf } from './error-kinds.ts';
import { named } from './explain-error.ts';
import { connect, parseUrl } from './open-database.ts';

/** A client of Laravel Passport, in one form for all of its versions. */
export interface PassportClient {
  /** A number as text, or a UUID. */
  readonly id: string;
  readonly name: string;
  /** As it is stored: in plain text, or hashed. `undefined`: a public client. */
  readonly secret: string | undefined;
  readonly redirectUris: readonly string[];
  /** From version 13 on. `undefined`: the grant types follow from the other members. */
  readonly grantTypes: readonly string[] | undefined;
  /** Whether it issues personal access tokens. Used before version 13; from then on it is in `grantTypes`. */
  readonly personalAccess: boolean;
  /** Whether it uses the password grant (RFC 6749 section 4.3). Used before version 13; from then on it is in `grantTypes`. */
  readonly password: boolean;
  readonly scopes: readonly string[] | undefined;
  /** The name of the user provider, when the app has several. */
  readonly provider: string | undefined;
  readonly owner: { readonly id: string; readonly type: string | undefined } | undefined;
  readonly revoked: boolean;
  /** In seconds since 1970. */
  readonly createdAt: number | undefined;
}

/**
 * The clients of a Laravel app that uses Passport, versions 8 to 13. Nothing is written to its database.
 *
 * Reading throws `ConfigError` when the database has no table of Passport, and `StorageError` when it cannot be read.
 */
export interface PassportSource {
  /** How many clients there are, revoked ones too. */
  count(): Promise<number>;
  /** All clients in the order of their ids, read 500 at a time. */
  clients(): AsyncIterable<PassportClient>;
  /** Closes the connection that was opened here; a Knex instance of the host stays open. */
  close(): Promise<void>;
}

const TABLE = 'oauth_clients';
const PAGE = 500;

/**
 * Opens the database of a Laravel app to read its OAuth clients: an address as for `knexStorage()`, a Knex configuration,
 * or a Knex instance, which stays open.
 *
 * @throws ConfigError for an address that cannot be understood or a driver that is not installed
 */
export function passportSource(database: Knex | Knex.Config | string): PassportSource {
  const owned = typeof database !== 'function';
  const knex = owned ? open(database) : database;
  let columns: Promise<ReadonlySet<string>> | undefined;

  async function findColumns(): Promise<ReadonlySet<string>> {
    columns ??= withStorageErrors(async () => new Set(Object.keys(await knex(TABLE).columnInfo())));
    const found = await columns;
    if (!found.has('id') || !(found.has('redirect') || found.has('redirect_uris'))) {
      throw new ConfigError(
        'source',
        found.size === 0
          ? `this database has no table ${TABLE}; pass the database of the Laravel app`
          : `the table ${TABLE} of this database is not Passport's: it has no redirect URIs`,
      );
    }
    return found;
  }

  async function readPage(after: unknown): Promise<readonly PassportRow[]> {
    const found = await findColumns();
    // Read as text, because drivers interpret a time without a zone in this machine's zone.
    const created = found.has('created_at') ? [knex.raw('cast(created_at as char(19)) as created_text')] : [];
    const afterLast = (query: Knex.QueryBuilder): unknown =>
      after === undefined ? query : query.where('id', '>', after as string);
    return withStorageErrors(async () =>
      knex(TABLE)
        .select('*', ...created)
        .where(afterLast)
        .orderBy('id')
        .limit(PAGE),
    );
  }

  return {
    async count() {
      await findColumns();
      const rows = await withStorageErrors(async () => knex(TABLE).count({ count: '*' }));
      return Number(rows[0]?.['count']);
    },
    async *clients() {
      for (let after: unknown; ;) {
        const page = await readPage(after);
        for (const row of page) yield toPassportClient(row);
        if (page.length < PAGE) return;
        after = page.at(-1)!['id'];
      }
    },
    async close() {
      if (owned) await knex.destroy();
    },
  };
}

function open(database: Knex.Config | string): Knex {
  const config = typeof database === 'string' ? parseUrl(database) : database;
  // Read-only, because SQLite would otherwise create a missing file.
  const { connection } = config;
  const isFile = typeof connection === 'object' && 'filename' in connection;
  return connect({
    useNullAsDefault: true,
    acquireConnectionTimeout: 5000,
    pool: { min: 0, max: 1 },
    ...config,
    ...(isFile ? { connection: { ...connection, options: { readonly: true } } } : {}),
  });
}

async function withStorageErrors<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    // Without a code, not its message, which may have values of rows.
    const reason = codeOf(error) === '' ? '' : ` ${named(error)}`;
    throw new StorageError(`The database of the Laravel app cannot be read${reason}.`, { cause: error });
  }
}

type PassportRow = Readonly<Record<string, unknown>>;

/** Reads a row of `oauth_clients`. */
function toPassportClient(row: PassportRow): PassportClient {
  const owner = text(row['owner_id'] ?? row['user_id']);
  return {
    id: text(row['id']) ?? '',
    name: text(row['name']) ?? '',
    secret: text(row['secret']),
    redirectUris: list(row['redirect_uris'] ?? row['redirect']) ?? [],
    grantTypes: list(row['grant_types']),
    personalAccess: flag(row['personal_access_client']),
    password: flag(row['password_client']),
    scopes: list(row['scopes']),
    provider: text(row['provider']),
    owner: owner === undefined ? undefined : { id: owner, type: text(row['owner_type']) },
    revoked: flag(row['revoked']),
    createdAt: time(row['created_text']),
  };
}

/** Passport treats an empty string like null. */
function text(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** JSON from version 13 on, separated by commas before; a database that was upgraded by hand may have both. */
function list(value: unknown): readonly string[] | undefined {
  const parsed = typeof value === 'string' ? parse(value) : value;
  if (Array.isArray(parsed)) return parsed.filter((entry) => typeof entry === 'string');
  if (typeof parsed !== 'string') return undefined;
  return parsed
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** Booleans are numbers on SQLite and MySQL. */
function flag(value: unknown): boolean {
  return value === true || Number(value) === 1;
}

/** Laravel stores times without a zone, in UTC unless the app is configured otherwise. */
function time(value: unknown): number | undefined {
  const milliseconds =
    typeof value === 'string' ? Date.parse(`${value.slice(0, 19).replace(' ', 'T')}Z`) : NaN;
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
