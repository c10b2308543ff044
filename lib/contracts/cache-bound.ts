/**
 * How many entries the caches of this process keep whose keys come with requests, as options of `lru-cache`. By size, not by
 * `max`, for which all of the memory would be reserved at the start.
 */
export const CACHE_BOUND = { maxSize: 10_000, sizeCalculation: () => 1 };
