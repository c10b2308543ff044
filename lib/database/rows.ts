import type { Value } from './statements.ts';
import type { Table } from './table.ts';

/** A column, and how a member of an object is stored in it. */
export interface Column<T> {
  readonly name: string;
  toValue(this: void, member: T): Value;
  toMember(this: void, value: Value): T;
}

/** A row as a driver returns it, whose columns have the type that {@link mapRows} declares. */
export type Row = Readonly<Record<string, Value>>;

/** How the objects of a type are stored in the rows of a table. */
export interface RowMapping<T> {
  readonly names: readonly string[];
  /** The columns, as a query selects them. */
  readonly columns: string;
  /** An insert of {@link RowMapping.values}. */
  readonly insert: string;
  /** An insert of {@link RowMapping.values} followed by the values of more columns. */
  insertWith(this: void, ...more: readonly string[]): string;
  /** The same insert for each row of a query, whose `from` clause has to be appended. */
  insertFor(this: void, ...more: readonly string[]): string;
  /** The values of all columns, in the order of their names. */
  values(this: void, object: T): Value[];
  read(this: void, row: Row): T;
  /** The columns of an alias of the table, and how to read them, for a query that selects columns of other tables too. */
  of(alias: string, prefix?: string): Pick<RowMapping<T>, 'columns' | 'read'>;
}

/** Declares once for each member in which column it is stored, and how. @throws TypeError when the table has no such column */
export function mapRows<T extends object>(
  { columns: declared, name: table }: Table,
  columns: { readonly [M in keyof T]-?: Column<T[M]> },
): RowMapping<T> {
  const members = Object.entries<Column<unknown>>(columns);
  const names = members.map(([, { name }]) => name);
  const missing = names.filter((name) => !(name in declared));
  if (missing.length > 0) throw new TypeError(`${table} has no column ${missing.join(', ')}`);

  function reader(prefix: string): (row: Row) => T {
    const read = members.map(([member, { name, toMember }]) => [member, prefix + name, toMember] as const);
    return (row) => {
      const object: Record<string, unknown> = {};
      for (const [member, name, toMember] of read) object[member] = toMember(row[name]!);
      return object as T;
    };
  }

  function insertInto(...more: readonly string[]): { readonly into: string; readonly places: string } {
    const all = [...names, ...more];
    return { into: `insert into ${table} (${all.join(', ')})`, places: all.map(() => '?').join(', ') };
  }

  function insertWith(...more: readonly string[]): string {
    const { into, places } = insertInto(...more);
    return `${into} values (${places})`;
  }

  return {
    names,
    columns: names.join(', '),
    insert: insertWith(),
    insertWith,
    insertFor(...more) {
      const { into, places } = insertInto(...more);
      return `${into} select ${places}`;
    },
    values(object) {
      return members.map(([member, { toValue }]) => toValue(object[member as keyof T]));
    },
    read: reader(''),
    of: (alias, prefix = '') => ({
      columns: names.map((name) => `${alias}.${name}${prefix && ` as ${prefix}${name}`}`).join(', '),
      read: reader(prefix),
    }),
  };
}

export function text<T extends string>(name: string): Column<T> {
  return { name, toValue: (member) => member, toMember: (value) => value as T };
}

/** pg returns 64-bit integers as strings. */
export function integer(name: string): Column<number> {
  return { name, toValue: (member) => member, toMember: Number };
}

export function flag(name: string): Column<boolean> {
  return { name, toValue: Number, toMember: (value) => value === 1 };
}

export function json<T>(name: string): Column<T> {
  return {
    name,
    toValue: (member) => JSON.stringify(member),
    toMember: (value) => JSON.parse(value as string) as T,
  };
}

/** A member that is `undefined` is stored as null. */
export function optional<T>({ name, toMember, toValue }: Column<T>): Column<T | undefined> {
  return {
    name,
    toValue: (member) => (member === undefined ? null : toValue(member)),
    toMember: (value) => (value === null ? undefined : toMember(value)),
  };
}

/** A row whose id and client are read. */
export interface RowOfClient {
  readonly id: string;
  readonly client_id: string;
}

/** The ids of the first rows of each client, at most `most` of one client, in the order of the rows. */
export function firstOfEachClient(rows: readonly RowOfClient[], most: number): string[] {
  const counts = new Map<string, number>();
  const first = rows.filter(({ client_id: clientId }) => {
    const count = (counts.get(clientId) ?? 0) + 1;
    counts.set(clientId, count);
    return count <= most;
  });
  return first.map(({ id }) => id);
}

/** A whole number as the drivers return it: pg returns 64-bit integers as strings. */
export type Integer = number | string;

export function toOptionalNumber(value: Integer | null): number | undefined {
  return value === null ? undefined : Number(value);
}

export function toStrings(stored: string): readonly string[] {
  const strings: readonly string[] = JSON.parse(stored);
  return strings;
}

export function toPayload(stored: string): Readonly<Record<string, unknown>> {
  const payload: Readonly<Record<string, unknown>> = JSON.parse(stored);
  return payload;
}

/** The right side of a condition such as `id in (?, ?)`, and the values to bind. */
interface InList {
  readonly placeholders: string;
  readonly values: readonly string[];
}

/**
 * Repeats the last value up to a power of two, because prepared statements are cached by their text and must be few.
 *
 * @param values - at least one
 */
export function inList(values: readonly string[]): InList {
  const length = 2 ** Math.ceil(Math.log2(values.length));
  const padded = [...values, ...Array.from({ length: length - values.length }, () => values.at(-1)!)];
  return { placeholders: `(${padded.map(() => '?').join(', ')})`, values: padded };
}

// An id has up to 255 characters, some of which are two UTF-16 units in JavaScript.
const LONGEST = 2 * 255;

/**
 * Whether a row can have this value. Ids come from requests: PostgreSQL refuses a NUL in a string, and such a request is to
 * find no row instead of failing with a `StorageError`.
 */
export function isStorable(value: string): boolean {
  return value.length <= LONGEST && !value.includes('\0');
}
