import type { ConnectionPool } from './acquire-connection.ts';
import type { SqliteConnection } from './dialects/sqlite.ts';
import { loadBetterSqlite3 } from './load-driver.ts';
import { setUpFile } from './set-ups.ts';

type OpenFile = ReturnType<typeof open>;

/** An SQLite file that nobody else uses in this process: a pool of one connection, without a Knex that lends it. */
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

  /** Opens no connection from here on. */
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
