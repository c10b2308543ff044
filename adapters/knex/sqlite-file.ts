import type { ConnectionPool } from './bounded-waits.ts';
import { setUpFile } from './connection-settings.ts';
import type { Dialect } from './dialect.ts';
import type { SqliteConnection } from './dialects/sqlite.ts';
import { loadBetterSqlite3 } from './load-driver.ts';
import type { Statements } from './statements.ts';

type OpenFile = ReturnType<typeof open>;

/** An SQLite file that only this storage uses in this process: a pool for one connection, without Knex. */
export class SqliteFile implements ConnectionPool<OpenFile> {
  readonly #open: () => OpenFile;
  #isClosed = false;

  /** @throws ConfigError when better-sqlite3 is not installed */
  constructor(filename: string) {
    const BetterSqlite3 = loadBetterSqlite3();
    this.#open = () => open(BetterSqlite3, filename);
  }

  async acquireConnection(): Promise<OpenFile> {
    if (this.#isClosed) throw new Error('the file is closed');
    return this.#open();
  }

  async releaseConnection(file: OpenFile): Promise<void> {
    file.close();
  }

  /** Makes later calls of `acquireConnection()` fail. */
  close(): void {
    this.#isClosed = true;
  }
}

function open(
  BetterSqlite3: ReturnType<typeof loadBetterSqlite3>,
  filename: string,
): SqliteConnection & { close(): unknown } {
  const file = new BetterSqlite3(filename);
  setUpFile(file);
  return file;
}

/**
 * A second connection to an SQLite file, opened at its first use. In WAL mode it reads the last committed state while the other
 * connection has a transaction open.
 */
export class SqliteReader {
  readonly #file: SqliteFile;
  readonly #dialect: Dialect<SqliteConnection>;
  #opened: Promise<OpenFile> | undefined;

  constructor(file: SqliteFile, dialect: Dialect<SqliteConnection>) {
    this.#file = file;
    this.#dialect = dialect;
  }

  async statements(): Promise<Statements> {
    this.#opened ??= this.#open();
    return this.#dialect.enter(await this.#opened);
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => {});
    if (opened) await this.#file.releaseConnection(opened);
  }

  async #open(): Promise<OpenFile> {
    try {
      const connection = await this.#file.acquireConnection();
      connection.pragma('query_only = 1');
      return connection;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }
}
