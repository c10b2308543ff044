/** A whole number as the drivers return it: pg returns 64-bit integers as strings. */
export type Integer = number | string;

export function toOptionalNumber(value: Integer | null): number | undefined {
  return value === null ? undefined : Number(value);
}

export function toStrings(json: string): readonly string[] {
  const strings: readonly string[] = JSON.parse(json);
  return strings;
}

export function toPayload(json: string): Readonly<Record<string, unknown>> {
  const payload: Readonly<Record<string, unknown>> = JSON.parse(json);
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
