// An id has up to 255 characters, and JavaScript counts some of them twice.
const LONGEST = 2 * 255;

/** Strangers make up ids. PostgreSQL refuses a NUL in a text, which is their mistake and no trouble of the database. */
export function isPossible(value: string): boolean {
  return value.length <= LONGEST && !value.includes('\0');
}
