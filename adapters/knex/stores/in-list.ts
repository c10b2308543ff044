/** The right side of a condition such as `id in (?, ?)`, and what to bind there. */
export interface InList {
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
