/** A count of what runs at once on this node. */
export interface Place {
  readonly id: string;
  /** How much of it may run. */
  readonly limit: number;
}

/** Places of what runs at once. */
export interface Places {
  /** Takes a place in each of several counts. Returns what leaves them all; `undefined`, and takes none, when one is full. */
  (places: readonly Place[]): (() => void) | undefined;
  isFull(this: void, place: Place): boolean;
}

/** Limits what runs at once on this node, such as in all and for one address. Nothing waits for a place. */
export function createPlaces(): Places {
  const taken = new Map<string, number>();
  const isFull = ({ id, limit }: Place): boolean => (taken.get(id) ?? 0) >= limit;

  function takePlaces(places: readonly Place[]): (() => void) | undefined {
    if (places.some(isFull)) return undefined;
    for (const { id } of places) taken.set(id, (taken.get(id) ?? 0) + 1);
    return () => {
      for (const { id } of places) {
        const left = taken.get(id)! - 1;
        if (left > 0) taken.set(id, left);
        else taken.delete(id);
      }
    };
  }

  return Object.assign(takePlaces, { isFull });
}
