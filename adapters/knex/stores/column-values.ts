/** A whole number as the drivers give it: PostgreSQL's has 64 bits and comes as text. */
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

/** The right side of a condition such as `id in (?, ?)`, and what to bind there. */
interface InList {
  readonly placeholders: string;
  readonly values: readonly string[];
}

/**
 * Repeats the last value up to a power of two: statements are kept by their text, so there must be few of them.
 *
 * @param values - at least one
 */
export function inList(values: readonly string[]): InList {
  const length = 2 ** Math.ceil(Math.log2(values.length));
  const padded = [...values, ...Array.from({ length: length - values.length }, () => values.at(-1)!)];
  return { placeholders: `(${padded.map(() => '?').join(', ')})`, values: padded };
}

// An id has up to 255 characters, and JavaScript counts some of them twice.
const LONGEST = 2 * 255;

/** Strangers make up ids. PostgreSQL refuses a NUL in a text, which is their mistake and no trouble of the database. */
export function isPossible(value: string): boolean {
  return value.length <= LONGEST && !value.includes('\0');
}
