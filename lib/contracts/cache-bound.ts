/**
 * The limit of each cache whose keys come from requests, as options of `lru-cache`: 10,000 entries. The limit is a size, because with
 * `max` `lru-cache` reserves the memory for all entries at once.
 */
export const CACHE_BOUND = { maxSize: 10_000, sizeCalculation: () => 1 };
