import type { Knex } from 'knex';

import { filenameOf, refuseFileOfServer } from '../../../../adapters/knex/address.ts';
import { connect } from '../../../../adapters/knex/open-database.ts';
import type { Milliseconds } from '../../../contracts/index.ts';
import { codeOf } from '../../../database/error-kinds.ts';
import { named } from '../../../database/explain-error.ts';
import { ConfigError, GatehouseError, StorageError } from '../../../errors.ts';
import type { PassportClient, LaravelPassportSource } from '../types.ts';
import { passportCounts } from './counts.ts';
import type { LaravelPassportSourceSettings } from './index.ts';
import { flagIn, isOfType, listIn, textIn, timeIn } from './tables.ts';
import type { PassportRow, PassportTable, TimedQuery } from './tables.ts';
import { passportTokens } from './tokens.ts';

const PAGE = 500;

// The time limit of a connection and of a statement.
const TIMEOUT: Milliseconds = 5000;

const REQUIRED: Readonly<Record<PassportTable, readonly string[]>> = {
  clients: ['id', 'revoked'],
  accessTokens: ['id', 'user_id', 'client_id', 'scopes', 'revoked'],
  refreshTokens: ['id', 'access_token_id', 'revoked'],
};

/** Opens the database of a Laravel app: see `laravelPassportSource()`. @throws ConfigError when its driver is not installed */
export function openSource(
  database: Knex | Knex.Config,
  { prefix = '', provider, readOnly, tables }: LaravelPassportSourceSettings,
): LaravelPassportSource {
  const owned = typeof database !== 'function';
  const knex = owned ? open(database, readOnly) : database;
  if (owned) refuseFileOfServer(knex);
  const names = {
    clients: prefix + tables.clients,
    accessTokens: prefix + tables.accessTokens,
    refreshTokens: prefix + tables.refreshTokens,
  };
  const found = new Map<string, Promise<Readonly<Record<string, string>>>>();

  async function readColumns(table: PassportTable): Promise<Readonly<Record<string, string>>> {
    const name = names[table];
    const info = await run(() => timed(knex(name).columnInfo()));
    const types = Object.entries(info).map(([column, { type }]) => [column, type] as const);
    const byName = Object.fromEntries(types);
    const hasUris = table !== 'clients' || 'redirect' in byName || 'redirect_uris' in byName;
    if (hasUris && REQUIRED[table].every((column) => column in byName)) return byName;
    throw new ConfigError(
      'source',
      types.length === 0
        ? `this database has no table ${name}; pass the database of the Laravel app, and the prefix of its tables if they have one`
        : `the table ${name} of this database is not Passport's: it has no column ${hasUris ? REQUIRED[table].find((column) => !(column in byName)) : 'redirect'}`,
    );
  }

  // A failed read is forgotten, so that a database that could not be reached is read again.
  async function columns(table: PassportTable): Promise<Readonly<Record<string, string>>> {
    const reading = found.get(table) ?? readColumns(table);
    found.set(table, reading);
    return reading.catch((error: unknown) => {
      found.delete(table);
      throw error;
    });
  }

  async function readClients(narrow: (query: Knex.QueryBuilder) => unknown): Promise<readonly PassportRow[]> {
    const { created_at: created } = await columns('clients');
    // Read as text, because drivers interpret a time without a zone in this machine's zone.
    const createdText =
      created === undefined ? [] : [knex.raw('cast(created_at as char(19)) as created_text')];
    return run(() =>
      knex(names.clients)
        .select('*', ...createdText)
        .where((query) => void narrow(query))
        .orderBy('id')
        .limit(PAGE),
    );
  }

  async function findClient(id: string): Promise<PassportClient | undefined> {
    const { id: type = '' } = await columns('clients');
    if (!isOfType(id, type)) return undefined;
    const [row] = await readClients((query) => query.where('id', id));
    return row && toPassportClient(row);
  }

  return {
    async countClients() {
      await columns('clients');
      const rows = await run(() => knex(names.clients).count({ count: '*' }));
      return Number(rows[0]?.['count']);
    },
    async *clients() {
      for (let after: unknown; ;) {
        const page = await readClients((query) =>
          after === undefined ? query : query.where('id', '>', after as string),
        );
        for (const row of page) yield toPassportClient(row);
        if (page.length < PAGE) return;
        after = page.at(-1)!['id'];
      }
    },
    ...passportTokens({ knex, names, provider, isReadOnly: readOnly, columns, run, findClient }),
    ...passportCounts({ knex, names, provider, isReadOnly: readOnly, columns, run, findClient }),
    async close() {
      if (owned) await knex.destroy();
    },
  };
}
/** Runs a query within the time limit. @throws StorageError when it fails */
async function run<T>(query: () => TimedQuery<T>, timeout: Milliseconds = TIMEOUT): Promise<T> {
  try {
    return await query().timeout(timeout);
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    // Without a code, the message is left out, because it may have values of rows.
    const reason = codeOf(error) === '' ? '' : ` ${named(error)}`;
    throw new StorageError(`The database of the Laravel app cannot be read${reason}.`, { cause: error });
  }
}

/** `columnInfo()` returns a promise that has no time limit. */
function timed<T>(promise: Promise<T>): TimedQuery<T> {
  return { timeout: () => promise };
}

function open(config: Knex.Config, isReadOnly: boolean): Knex {
  const filename = filenameOf(config);
  return connect({
    useNullAsDefault: true,
    acquireConnectionTimeout: TIMEOUT,
    ...config,
    pool: { min: 0, max: filename === undefined ? 5 : 1, ...config.pool },
    ...(filename === undefined ? {} : { connection: { filename, options: { readonly: isReadOnly } } }),
  });
}

/** Reads a row of `oauth_clients`. */
function toPassportClient(row: PassportRow): PassportClient {
  const owner = textIn(row['owner_id'] ?? row['user_id']);
  return {
    id: textIn(row['id']) ?? '',
    name: textIn(row['name']) ?? '',
    secret: textIn(row['secret']),
    redirectUris: listIn(row['redirect_uris'] || row['redirect']) ?? [],
    grantTypes: listIn(row['grant_types'] || undefined),
    personalAccess: flagIn(row['personal_access_client']),
    password: flagIn(row['password_client']),
    scopes: listIn(row['scopes']),
    provider: textIn(row['provider']),
    owner: owner === undefined ? undefined : { id: owner, type: textIn(row['owner_type']) },
    revoked: flagIn(row['revoked']),
    createdAt: timeIn(row['created_text']),
  };
}
