/** A value bound to a `?`. What a caller gives reaches the database in no other way. */
export type Value = string | number | null;

/** Statements on one connection. `Row` is what the SQL selects: who writes the one writes the other. */
export interface Statements {
  /** The first row. */
  get<Row>(sql: string, values?: readonly Value[]): Promise<Row | undefined>;
  all<Row>(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** Resolves to the number of rows inserted, changed or removed. */
  run(sql: string, values?: readonly Value[]): Promise<number>;
}
