import type { ExpiredRows, RemovableRows, SqlSyntax } from '../dialect.ts';

/** A query of the keys of removable rows; its last `?` is their largest number. */
export function selectKeys({ table, key, condition }: RemovableRows): string {
  return `select ${key.join(', ')} from ${table} where ${condition} limit ?`;
}

/** A query of columns of expired rows; its values are `from`, `before` and the largest number of rows. */
export function selectExpired(
  columns: readonly string[],
  { table, column }: Pick<ExpiredRows, 'table' | 'column'>,
  isFrom = `${column} >= ?`,
): string {
  return `select ${columns.join(', ')} from ${table} where ${isFrom} and ${column} < ? order by ${column} limit ?`;
}

/**
 * Deletes the rows whose keys a query finds. The query is materialized, because PostgreSQL may run a subquery once for each row
 * of the table, each time with the next rows that fit into its limit.
 */
function deleteFound({ table, key }: Pick<RemovableRows, 'table' | 'key'>, keys: string): string {
  const columns = key.join(', ');
  return `with found as materialized (${keys}) delete from ${table} where (${columns}) in (select ${columns} from found)`;
}

/**
 * SQL as SQLite and PostgreSQL write it.
 *
 * @param options.greatest - the function that returns the greatest of its arguments
 * @param options.forUpdate - appended to the queries of rows that are removed
 * @param options.isFrom - the condition that a row has not expired before a time
 */
export function standardSql({
  greatest: greatestOf,
  forUpdate = '',
  isFrom,
}: {
  readonly greatest: string;
  readonly forUpdate?: string;
  readonly isFrom?: (rows: ExpiredRows) => string;
}): SqlSyntax {
  return {
    inlineIndexes: false,
    keys: (key) => [`primary key (${key})`],
    tableOptions: '',
    primaryKeyHint: '',
    indexHint: () => '',
    rowsAfter: (columns, values) => ({
      sql: `(${columns.join(', ')}) > (${columns.map(() => '?').join(', ')})`,
      values,
    }),
    onConflict({ table, key, replace = [], greatest = [], when }) {
      const assignments = [
        ...replace.map((column) => `${column} = excluded.${column}`),
        ...greatest.map((column) => `${column} = ${greatestOf}(excluded.${column}, ${table}.${column})`),
      ];
      const conflict = `on conflict (${key.join(', ')})`;
      if (assignments.length === 0) return `${conflict} do nothing`;
      const condition = when === undefined ? '' : ` where ${when}`;
      return `${conflict} do update set ${assignments.join(', ')}${condition}`;
    },
    countsConflicts: true,
    async deleteSome(statements, rows, limit) {
      return statements.run(deleteFound(rows, `${selectKeys(rows)}${forUpdate}`), [...rows.values, limit]);
    },
    async deleteExpired(database, rows, limit) {
      const { key, column, from, before } = rows;
      const unlocked = forUpdate && `${forUpdate} skip locked`;
      const keys = `${selectExpired(key, rows, isFrom?.(rows))}${unlocked}`;
      const sql = `${deleteFound(rows, keys)} returning ${column} as expiry`;
      const removed = await database.returning<{ expiry: number | string }>(sql, [from, before, limit]);
      return removed.map(({ expiry }) => Number(expiry));
    },
  };
}
