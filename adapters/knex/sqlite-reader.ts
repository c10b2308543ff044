import type { Dialect } from './dialect.ts';
import type { SqliteConnection } from './dialects/sqlite.ts';
import type { SqliteFile } from './sqlite-file.ts';
import type { Statements } from './statements.ts';

type OpenFile = Awaited<ReturnType<SqliteFile['acquireConnection']>>;

/**
 * A second connection to an SQLite file, opened when it is first needed. In WAL mode it reads what was committed last while the
 * other one is in the middle of a transaction.
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
