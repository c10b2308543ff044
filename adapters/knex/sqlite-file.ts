import type { ConnectionPool } from './bounded-waits.ts';
import { setUpFile } from './connection-settings.ts';
import type { SqliteConnection } from './dialects/sqlite.ts';
import { loadBetterSqlite3 } from './load-driver.ts';

/** An SQLite file that only this storage uses in this process: a pool for one connection, without Knex. */
export class SqliteFile implements ConnectionPool<SqliteConnection> {
  readonly #open: () => SqliteConnection;
  #reader: SqliteConnection | undefined;
  #isClosed = false;

  /** @throws ConfigError when better-sqlite3 is not installed */
  constructor(filename: string) {
    const BetterSqlite3 = loadBetterSqlite3();
    this.#open = () => {
      if (this.#isClosed) throw new Error('the file is closed');
      const file = new BetterSqlite3(filename);
      setUpFile(file);
      return file;
    };
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return this.#open();
  }

  async releaseConnection(file: SqliteConnection): Promise<void> {
    file.close();
  }

  /**
   * A second connection, opened at its first use. In WAL mode it reads the last committed state while the other one has a
   * transaction open.
   */
  reader(): SqliteConnection {
    if (!this.#reader) {
      this.#reader = this.#open();
      this.#reader.pragma('query_only = 1');
    }
    return this.#reader;
  }

  /** Makes later calls fail, and closes the second connection. */
  close(): void {
    this.#isClosed = true;
    this.#reader?.close();
  }
}
