import type { ColumnTypes, Dialect } from './dialect.ts';

/** The definition of a table, the same for all databases. */
export interface Table {
  readonly name: string;
  readonly columns: Readonly<Record<string, keyof ColumnTypes>>;
  /** The columns that may be null. */
  readonly optional?: readonly string[];
  /** The primary key. */
  readonly key: readonly string[];
  /** Each one a list of columns. */
  readonly indexes?: readonly (readonly string[])[];
  readonly unique?: readonly (readonly string[])[];
}

/** The statements that create a table and its indexes, unless they exist. */
export function createTable(dialect: Dialect, table: Table): string[] {
  const { name, columns, key, optional = [] } = table;
  const indexes = [
    ...(table.unique ?? []).map((on) => ({ on, unique: 'unique ' })),
    ...(table.indexes ?? []).map((on) => ({ on, unique: '' })),
  ].map(({ on, unique }) => ({ on: on.join(', '), unique, index: `${name}_${on.join('_')}` }));

  const lines = [
    ...Object.entries(columns).map(
      ([column, type]) => `${column} ${dialect.types[type]}${optional.includes(column) ? '' : ' not null'}`,
    ),
    `primary key (${key.join(', ')})`,
    ...(dialect.inlineIndexes
      ? indexes.map(({ on, unique, index }) => `${unique}index ${index} (${on})`)
      : []),
  ];
  return [
    `create table if not exists ${name} (\n  ${lines.join(',\n  ')}\n)`,
    ...(dialect.inlineIndexes
      ? []
      : indexes.map(
          ({ on, unique, index }) => `create ${unique}index if not exists ${index} on ${name} (${on})`,
        )),
  ];
}

/** The statement that adds a nullable column. */
export function addColumn(
  dialect: Dialect,
  table: string,
  { column, type }: { readonly column: string; readonly type: keyof ColumnTypes },
): string {
  return `alter table ${table} ${dialect.addColumn} ${column} ${dialect.types[type]}`;
}
