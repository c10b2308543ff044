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
  /** The number of the row, which the database gives it, greater than those that it gave before. One of a table. */
  | 'sequence';

/** The definition of a table, the same for all databases. */
export interface Table {
  readonly name: string;
  /** With `?`, the column may be null. */
  readonly columns: Readonly<Record<string, ColumnType | `${ColumnType}?`>>;
  /** The primary key; `id` unless given. */
  readonly key?: readonly string[];
  /** Each one a list of columns. */
  readonly indexes?: readonly (readonly string[])[];
  readonly unique?: readonly (readonly string[])[];
}

/** A table of the storage, with what has to be said of its rows. That of a feature has the same done to it when the feature is off. */
export interface StoredTable extends Table {
  /** The column of the time at which a row is not needed any more, which an index begins with. `undefined`: no row expires. */
  readonly expires: string | undefined;
  /**
   * The column of the user with whom a row is erased, which begins an index or the key. `'by hand'`: `userDataStore()` erases what it
   * has of a user. `undefined`: it has nothing of a user, or nothing that an erasure may take.
   */
  readonly user: string | undefined;
  /** A condition on a row that is erased with its user, such as `due_at is null`. @default each */
  readonly whenErased?: string;
  /** The column of a user that is emptied when the user is erased. */
  readonly emptied?: string;
  /** The column of a user that `ERASED_USER` takes the place of when that user is erased, in the rows of others. */
  readonly renamed?: string;
  /** The column of a client with which a row is deleted. The id of a client that has had one is never given to another one. */
  readonly client?: string;
}

/** Declares a table. A column that it does not have is an error of the compiler. */
export function defineTable<const C extends string>(table: {
  readonly name: `gatehouse_${string}`;
  readonly columns: Readonly<Record<C, Table['columns'][string]>>;
  readonly key?: readonly NoInfer<C>[];
  readonly indexes?: readonly (readonly NoInfer<C>[])[];
  readonly unique?: readonly (readonly NoInfer<C>[])[];
  readonly expires: NoInfer<C> | undefined;
  readonly user: NoInfer<C> | 'by hand' | undefined;
  readonly whenErased?: string;
  readonly emptied?: NoInfer<C>;
  readonly renamed?: NoInfer<C>;
  readonly client?: NoInfer<C>;
}): StoredTable {
  return table;
}
