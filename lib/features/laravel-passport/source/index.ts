import type { Knex } from 'knex';

import { filenameOf, parseUrl, refuseFileOfServer, requireFile } from '../../../../adapters/knex/address.ts';
import { beginStackAt } from '../../../errors.ts';
import { object, optional, readOptions } from '../../../options/declare.ts';
import type { Given, Values } from '../../../options/declare.ts';
import { boolean, text } from '../../../options/values.ts';
import type { LaravelPassportSource } from '../types.ts';

const TABLES = {
  /** @default 'oauth_clients' */
  clients: optional(text(), 'oauth_clients'),
  /** @default 'oauth_access_tokens' */
  accessTokens: optional(text(), 'oauth_access_tokens'),
  /** @default 'oauth_refresh_tokens' */
  refreshTokens: optional(text(), 'oauth_refresh_tokens'),
};

const PASSPORT_SOURCE = {
  /** The `prefix` of the connection in Laravel's `config/database.php`. @default none */
  prefix: optional(text()),
  /** The tables of models that the app has replaced, without the prefix. */
  tables: optional(object(TABLES), {}),
  /**
   * The user provider of Laravel's `config/auth.php` whose users are the users of this server. Tokens of users of other providers are
   * refused, because these users may have the same ids.
   * @default 'users'
   */
  provider: optional(text(), 'users'),
  /** With `true`, nothing is written, even where the database would allow it. @default false */
  readOnly: optional(boolean, false),
};

/** Where the tables of Passport are, and whose they are. */
export interface LaravelPassportSourceOptions extends Given<typeof PASSPORT_SOURCE> {}

/** The options, complete. */
export type LaravelPassportSourceSettings = Values<typeof PASSPORT_SOURCE>;

/** A Knex instance. The declarations of Knex are those of an optional package. */
export interface KnexInstance {
  (table: string): unknown;
  readonly client: unknown;
  /** Closes its connections. */
  destroy(): Promise<void>;
}

/** The configuration of a Knex instance. */
export interface KnexConfiguration {
  readonly client?: unknown;
  readonly connection?: unknown;
}

/**
 * The database of a Laravel app that uses Passport: an address as for `knexStorage()`, a Knex configuration, or a Knex instance, which
 * stays open. It is opened when it is first used. `gatehouse client import` reads its clients; a server with {@link laravelPassport} also accepts
 * its tokens, and marks those that it revokes, if the user of the database may change rows.
 *
 * @throws ConfigError for an address that cannot be understood or a wrong option
 */
export function laravelPassportSource(
  database: KnexInstance | KnexConfiguration | string,
  options: LaravelPassportSourceOptions = {},
): LaravelPassportSource {
  const settings = readOptions(PASSPORT_SOURCE, options, 'laravelPassportSource()');
  const checked = checkDatabase(database as Knex | Knex.Config | string, settings);
  let opening: Promise<LaravelPassportSource> | undefined;

  async function open(): Promise<LaravelPassportSource> {
    opening ??= import('./open.ts').then(({ openSource }) => openSource(checked, settings));
    return opening;
  }

  return {
    countClients: async () => (await open()).countClients(),
    async *clients() {
      yield* (await open()).clients();
    },
    check: async () => (await open()).check(),
    countTokens: async () => (await open()).countTokens(),
    liveScopes: async () => (await open()).liveScopes(),
    findAccessToken: async (id) => (await open()).findAccessToken(id),
    findRefreshToken: async (...of) => (await open()).findRefreshToken(...of),
    authorizations: async (...of) => (await open()).authorizations(...of),
    redeemRefreshToken: async (...of) => (await open()).redeemRefreshToken(...of),
    revoke: async (selector) => (await open()).revoke(selector),
    setClientRevoked: async (...of) => (await open()).setClientRevoked(...of),
    close: async () => (await opening)?.close(),
  };
}
beginStackAt(laravelPassportSource);

/** @throws ConfigError */
function checkDatabase(
  database: Knex | Knex.Config | string,
  { readOnly }: LaravelPassportSourceSettings,
): Knex | Knex.Config {
  if (typeof database === 'function') {
    refuseFileOfServer(database);
    return database;
  }
  const config = typeof database === 'string' ? parseUrl(database) : database;
  const filename = filenameOf(config);
  // Otherwise SQLite would create it.
  if (filename !== undefined && !readOnly) requireFile(filename, 'pass the database of the Laravel app');
  return config;
}
