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

/** How much a multipart body may hold that is sent to a route of yours. */
export interface UploadLimits {
  /** The largest body, files and fields together, in bytes. @default 10485760 */
  readonly bodyLimit?: number;
  /** The most files. @default 10 */
  readonly maxFiles?: number;
  /** The most fields; of other forms too. @default 100 */
  readonly maxFields?: number;
}

/** The limits of an API, with their defaults. */
export interface Limits {
  readonly bodyLimit: number;
  readonly bulk: Required<BulkLimits>;
  readonly uploads: Required<UploadLimits>;
}

/** @throws ConfigError for a limit that is not a whole number above 0 */
export function checkLimits({
  bodyLimit = 64 * 1024,
  bulk = {},
  uploads = {},
}: {
  bodyLimit?: number;
  bulk?: BulkLimits;
  uploads?: UploadLimits;
}): Limits {
  const { maximum = 1000, concurrency = 4, bodyLimit: bulkBodyLimit = 4 * MEBIBYTE } = bulk;
  const { bodyLimit: uploadLimit = 10 * MEBIBYTE, maxFiles = 10, maxFields = 100 } = uploads;
  const numbers = {
    bodyLimit,
    'bulk.maximum': maximum,
    'bulk.concurrency': concurrency,
    'bulk.bodyLimit': bulkBodyLimit,
    'uploads.bodyLimit': uploadLimit,
    'uploads.maxFiles': maxFiles,
    'uploads.maxFields': maxFields,
  };
  for (const [option, value] of Object.entries(numbers)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new ConfigError(option, 'give a whole number above 0');
  }
  return {
    bodyLimit,
    bulk: { maximum, concurrency, bodyLimit: bulkBodyLimit },
    uploads: { bodyLimit: uploadLimit, maxFiles, maxFields },
  };
}

const MEBIBYTE = 1024 * 1024;
