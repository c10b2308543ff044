/**
 * The limit of each cache whose keys come from requests, as options of `lru-cache`: 10,000 entries. It is given as a size
 * because `lru-cache` reserves the memory for all entries at once when it is given `max`.
 */
export const CACHE_BOUND = { maxSize: 10_000, sizeCalculation: () => 1 };
