/** A count of what runs at once on this node. */
export interface Place {
  readonly id: string;
  /** How much of it may run. */
  readonly limit: number;
}

/**
 * Limits what runs at once on this node, such as in all and for one address. Nothing waits for a place.
 *
 * @returns takes a place in each of several counts, and returns what leaves them all; `undefined`, and takes none, when one is full
 */
export function createPlaces(): (places: readonly Place[]) => (() => void) | undefined {
  const taken = new Map<string, number>();

  return (places) => {
    if (places.some(({ id, limit }) => (taken.get(id) ?? 0) >= limit)) return undefined;
    for (const { id } of places) taken.set(id, (taken.get(id) ?? 0) + 1);
    return () => {
      for (const { id } of places) {
        const left = taken.get(id)! - 1;
        if (left > 0) taken.set(id, left);
        else taken.delete(id);
      }
    };
  };
}
