/** A value bound to a `?`. Input reaches the database only as bound values. */
export type Value = string | number | null;

/** Statements on one connection. `Row` is the type of the selected columns, which the caller declares without a check. */
export interface Statements {
  /** The first row. */
  get<Row>(this: void, sql: string, values?: readonly Value[]): Promise<Row | undefined>;
  all<Row>(this: void, sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** Resolves to the number of rows inserted, changed or removed. */
  run(this: void, sql: string, values?: readonly Value[]): Promise<number>;
}

/** A statement of a transaction whose statements are known before it begins. */
export interface Step {
  readonly sql: string;
  readonly values: readonly Value[];
  /**
   * Whether the statement has to change a row or to find one. If it does not, the steps before it are undone, and the steps after it are
   * not run.
   */
  readonly needs?: 'change' | 'row';
  /**
   * Whether the statement would change nothing, judged by the row that an earlier step has found. Where all steps are sent together, it
   * is still sent.
   */
  skipIf?(this: void, row: Readonly<Record<string, Value>>): boolean;
}
