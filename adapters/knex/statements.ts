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
