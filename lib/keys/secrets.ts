/**
 * The secrets from which the server signs cookies and derives what else has to be the same on every node: the first one signs and
 * encrypts, all verify and decrypt. Another list when they have changed.
 */
export type Secrets = () => readonly string[];

/** Derives a value from each, once for each list. */
export function derivedFromEach<From, To>(
  source: () => readonly From[],
  derive: (one: From) => To,
): () => readonly To[] {
  let from: readonly From[] | undefined;
  let derived: readonly To[] = [];
  return () => {
    const current = source();
    if (current !== from) derived = current.map(derive);
    from = current;
    return derived;
  };
}
