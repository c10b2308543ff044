/** Makes something when it is first asked for: what no page has needed yet does not hold up the start. */
export function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
