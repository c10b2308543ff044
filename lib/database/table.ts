/** The types of columns. */
export type ColumnType =
  /** Up to 255 characters. Comparison respects case and trailing blanks. */
  | 'id'
  /** Text of any length, JSON among it. */
  | 'text'
  | 'integer'
  /** 0 or 1. */
  | 'flag'
  /** An integer that is 0 in a new row. */
  | 'counter'
  /** A number that the database gives the row, greater than the numbers that it gave before. A table has at most one such column. */
  | 'sequence';

/** The definition of a table, the same for all databases. */
export interface Table {
  readonly name: string;
  /** With `?`, the column may be null. */
  readonly columns: Readonly<Record<string, ColumnType | `${ColumnType}?`>>;
  /** The primary key; `id` unless given. */
  readonly key?: readonly string[];
  /** Each index is a list of columns. */
  readonly indexes?: readonly (readonly string[])[];
  readonly unique?: readonly (readonly string[])[];
}

/** A table of the storage, with the rules for its rows. The rules for the table of a feature also apply while the feature is off. */
export interface StoredTable extends Table {
  /** The name of the migration that makes the table, which is its own. @default the first one, with the others */
  readonly since?: string;
  /** The column with the time from which on the row is not needed; an index begins with it. `undefined` when no row expires. */
  readonly expires: string | undefined;
  /**
   * The column with the user whose erasure deletes the row; an index or the key begins with it. `'by hand'` when `userDataStore()` erases
   * what the table has of a user. `undefined` when the table has nothing of a user, or nothing that an erasure may delete.
   */
  readonly user: string | undefined;
  /** A condition on a row that is erased with its user, such as `due_at is null`. @default each */
  readonly whenErased?: string;
  /** The column with a user that is emptied when this user is erased. */
  readonly emptied?: string;
  /** The column with a user, in rows of other users, that is set to `ERASED_USER` when this user is erased. */
  readonly renamed?: string;
  /**
   * The column with the client whose deletion deletes the row. The id of a client that had such a row is never given to another client.
   */
  readonly client?: string;
}

/** Declares a table. A column that it does not have is an error of the compiler. */
export function defineTable<const C extends string>(table: {
  readonly name: `gatehouse_${string}`;
  readonly columns: Readonly<Record<C, Table['columns'][string]>>;
  readonly key?: readonly NoInfer<C>[];
  readonly indexes?: readonly (readonly NoInfer<C>[])[];
  readonly unique?: readonly (readonly NoInfer<C>[])[];
  readonly since?: string;
  readonly expires: NoInfer<C> | undefined;
  readonly user: NoInfer<C> | 'by hand' | undefined;
  readonly whenErased?: string;
  readonly emptied?: NoInfer<C>;
  readonly renamed?: NoInfer<C>;
  readonly client?: NoInfer<C>;
}): StoredTable {
  return table;
}
