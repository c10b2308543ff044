import { ConfigError } from '../errors.ts';

/** How much may be asked for in one request. */
export interface BulkLimits {
  /** The most items. @default 1000 */
  readonly maximum?: number;
  /** How many items run at a time; fewer than the database has connections. @default 4 */
  readonly concurrency?: number;
  /** The largest body, in bytes. @default 4194304 */
  readonly bodyLimit?: number;
}

export interface Limits {
  readonly bodyLimit: number;
  readonly bulk: Required<BulkLimits>;
}

/** @throws ConfigError for a limit that is not a whole number above 0 */
export function checkLimits({
  bodyLimit = 64 * 1024,
  bulk = {},
}: {
  bodyLimit?: number;
  bulk?: BulkLimits;
}): Limits {
  const { maximum = 1000, concurrency = 4, bodyLimit: bulkBodyLimit = 4 * 1024 * 1024 } = bulk;
  const numbers = {
    bodyLimit,
    'bulk.maximum': maximum,
    'bulk.concurrency': concurrency,
    'bulk.bodyLimit': bulkBodyLimit,
  };
  for (const [option, value] of Object.entries(numbers)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new ConfigError(option, 'give a whole number above 0');
  }
  return { bodyLimit, bulk: { maximum, concurrency, bodyLimit: bulkBodyLimit } };
}
