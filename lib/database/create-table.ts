import type { Table } from './table.ts';
import type { ColumnTypes, Dialect } from './dialect.ts';

/** One step of the schema. Once published, neither its name, which is stored, nor its statements change. */
export interface Migration {
  readonly name: string;
  /** The statements, in order. They can be run again after a crash in the middle. */
  up(this: void, dialect: Dialect): string[];
}

/** The statements that create a table and its indexes, unless they exist. */
export function createTable(dialect: Dialect, table: Table): string[] {
  const { name, columns, key = ['id'] } = table;
  const indexes = [
    ...(table.unique ?? []).map((on) => ({ on, unique: 'unique ' })),
    ...(table.indexes ?? []).map((on) => ({ on, unique: '' })),
  ];
  const sequence = Object.keys(columns).find((column) => columns[column] === 'sequence');
  const lines = [
    ...Object.entries(columns).map(([column, type]) => defineColumn(dialect, column, type)),
    ...dialect.keys(key.join(', '), sequence),
    ...(dialect.inlineIndexes
      ? indexes.map(({ on, unique }) => `${unique}index ${nameOfIndex(name, on)} (${on.join(', ')})`)
      : []),
  ];
  return [
    `create table if not exists ${name} (\n  ${lines.join(',\n  ')}\n)${dialect.tableOptions}`,
    ...(dialect.inlineIndexes ? [] : indexes.map(({ on, unique }) => createIndex(dialect, name, on, unique))),
  ];
}

function defineColumn({ types }: Dialect, column: string, type: string): string {
  const isOptional = type.endsWith('?');
  return `${column} ${types[type.replace('?', '') as keyof ColumnTypes]}${isOptional ? '' : ' not null'}`;
}

/** The statements that add columns, which may be null. */
export function addColumns(
  { addColumn, types }: Dialect,
  table: string,
  columns: Readonly<Record<string, keyof ColumnTypes>>,
): string[] {
  return Object.entries(columns).map(
    ([column, type]) => `alter table ${table} ${addColumn} ${column} ${types[type]}`,
  );
}

/** The statement that creates an index of an existing table, which can be repeated. */
export function createIndex(
  { inlineIndexes }: Dialect,
  table: string,
  on: readonly string[],
  unique = '',
): string {
  const unlessDone = inlineIndexes ? '' : 'if not exists ';
  return `create ${unique}index ${unlessDone}${nameOfIndex(table, on)} on ${table} (${on.join(', ')})`;
}

/** The statement that drops an index, which can be repeated. */
export function dropIndex({ inlineIndexes }: Dialect, table: string, on: readonly string[]): string {
  const index = nameOfIndex(table, on);
  return inlineIndexes ? `drop index ${index} on ${table}` : `drop index if exists ${index}`;
}

/** The name of the index of a table on these columns. */
export function nameOfIndex(table: string, on: readonly string[]): string {
  return `${table}_${on.join('_')}`;
}
