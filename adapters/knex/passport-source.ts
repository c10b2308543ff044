import type { Knex } from 'knex';

import { ConfigError, GatehouseError, StorageError } from '../../lib/errors.ts';
import { codeOf } from './dialect.ts';
import { named } from './explain-error.ts';
import { connect, parseUrl } from './open-database.ts';
import { toPassportClient } from './passport-row.ts';
import type { PassportClient } from './passport-row.ts';

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

  async function readPage(after: unknown): Promise<readonly Readonly<Record<string, unknown>>[]> {
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
