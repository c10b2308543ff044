import type { Value } from '../statements.ts';

/** Puts the values of a statement in the place of its `?`. */
export function withLiterals(sql: string, values: readonly Value[]): string {
  let index = 0;
  return sql.replaceAll('?', () => toLiteral(values[index++] ?? null));
}

/**
 * A value as SQL.
 *
 * mysql2 escapes with backslashes, which are plain characters in the mode NO_BACKSLASH_ESCAPES: a quote would end the text
 * there. In hexadecimal digits nothing means anything else, in any mode and any character set. Prepared statements would do
 * as well, but MySQL takes no `limit` from mysql2 in them, and they are no faster.
 */
function toLiteral(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return String(value);
  return value === '' ? "''" : `_utf8mb4 x'${Buffer.from(value, 'utf8').toString('hex')}'`;
}
