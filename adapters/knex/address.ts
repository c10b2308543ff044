import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import type { Knex } from 'knex';

import { ConfigError } from '../../lib/errors.ts';

const OPTION = 'storage';

const FORMS =
  'sqlite:./data.db, a file name ending in .db, postgres://user@host/name or mysql://user@host/name';

// None of the messages repeats the address, because it may contain a password.
const UNREADABLE =
  'this address cannot be read; in the user name and the password write # as %23, ? as %3F, / as %2F, @ as %40 and % as %25, and give one host, with a port of 1 to 65535 or none';

/** For each kind of server, the name of Knex's client and, for an address without a host, the parameter that names the socket. */
const SERVERS: Readonly<Record<string, { readonly client: string; readonly socket: string }>> = {
  postgres: { client: 'pg', socket: 'host' },
  postgresql: { client: 'pg', socket: 'host' },
  mysql: { client: 'mysql2', socket: 'socketPath' },
  mariadb: { client: 'mysql2', socket: 'socketPath' },
};

// Every failure reaches the caller as an error; without this, Knex would print it as well.
const SILENT = { warn() {}, error() {}, deprecate() {}, debug() {} };

/** The Knex configuration for the address of a database. @throws ConfigError when it is not one */
export function parseUrl(url: string): Knex.Config {
  const protocol = /^([a-z]+):/.exec(url)?.[1] ?? '';
  const server = serverOf(url);
  if (server) return { client: server.client, connection: readableAddress(url), log: SILENT };
  if (protocol === 'sqlite') return sqliteFile(url.replace(/^sqlite:(\/\/)?/, ''));
  // A letter and a colon are a drive of Windows.
  if (protocol.length <= 1 && /\.(db|sqlite|sqlite3)$/.test(url)) return sqliteFile(url);
  if (/^[a-z]{2,12}$/.test(protocol))
    throw new ConfigError(OPTION, `there is no kind of database "${protocol}:"; use ${FORMS}`);
  throw new ConfigError(OPTION, `this is not the URL of a database; use ${FORMS}`);
}

function serverOf(url: string): (typeof SERVERS)[string] | undefined {
  const protocol = /^([a-z]+):/.exec(url)?.[1] ?? '';
  return Object.hasOwn(SERVERS, protocol) ? SERVERS[protocol] : undefined;
}

/**
 * The address of a database server in a form that Knex reads as a whole. Knex takes any other text, without an error, for the name of a
 * file, and the driver then connects to its default server, with the tables of another application.
 *
 * @param option - the option with the address, for the error
 * @throws ConfigError when it is not one
 */
export function readableAddress(url: string, option = OPTION): string {
  const server = serverOf(url);
  // libpq's address of a socket has no host, even after a user; a URL must not be like that.
  const address = url.replace(/^([a-z]+:\/\/[^/?#]*@)(?=\/)/, '$1localhost');
  const parsed = URL.parse(address);
  if (!server || parsed === null || !/^[a-z]+:\/\//.test(url) || !isWhole(parsed))
    throw new ConfigError(option, UNREADABLE);
  if (address !== url && !parsed.searchParams.get(server.socket)) {
    throw new ConfigError(
      option,
      `this address has no host; give one, or a socket as ?${server.socket}=/directory`,
    );
  }
  return address;
}

/** A configuration of the host, whose connection may be an address. @throws ConfigError when it cannot be read */
export function withReadableAddress(config: Knex.Config): Knex.Config {
  const { connection } = config;
  if (typeof connection !== 'string' || !serverOf(connection)) return config;
  return { ...config, connection: readableAddress(connection) };
}

/** @throws ConfigError for a Knex instance of the host that is for a server, when Knex has taken its address for the name of a file */
export function refuseFileOfServer({ client }: Knex): void {
  const isFile = Object.hasOwn(Object(client.connectionSettings) as object, 'filename');
  if (isFile && !String(client.driverName).includes('sqlite')) throw new ConfigError(OPTION, UNREADABLE);
}

/** Whether no part of the URL is the rest of a password: as a URL, `app:12#34@host` begins with a host and a port. */
function isWhole({ hash, hostname, password, pathname, searchParams, username }: URL): boolean {
  const names = [...searchParams.keys()].join('');
  return (
    hash === '' &&
    !hostname.includes(',') &&
    !pathname.includes('@') &&
    !names.includes('@') &&
    [username, password, pathname].every(isPercentEncoded)
  );
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function sqliteFile(filename: string): Knex.Config {
  if (filename === '') throw new ConfigError(OPTION, `the URL has no file name; use ${FORMS}`);
  const folder = dirname(filename);
  if (filename !== ':memory:' && !existsSync(folder)) {
    throw new ConfigError(OPTION, `the folder ${folder} of the database file does not exist; create it`);
  }
  return { client: 'better-sqlite3', connection: { filename }, log: SILENT };
}

export function filenameOf({ connection }: Knex.Config): string | undefined {
  const isInFile = typeof connection === 'object' && 'filename' in connection;
  return isInFile ? connection.filename : undefined;
}

/** SQLite removes a file without a name when it is closed. */
export function isPersistent(filename: unknown): boolean {
  return filename !== ':memory:' && filename !== '';
}

/** @throws ConfigError when there is no such file: SQLite would create it */
export function requireFile(filename: string, remedy: string): void {
  if (!isPersistent(filename) || existsSync(filename)) return;
  throw new ConfigError(OPTION, `there is no database file ${filename}; ${remedy}`);
}
