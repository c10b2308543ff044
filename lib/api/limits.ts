import { ConfigError } from '../errors.ts';
import type { Duration } from '../contracts/duration.ts';
import { checkDuration } from '../options/checks.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import { checkInteger } from '../options/values.ts';

/** The limits of a bulk request. */
export interface BulkLimits {
  /** The largest number of items. @default 1000 */
  readonly maximum?: number;
  /** How many items run concurrently; choose fewer than the database pool has connections. @default 4 */
  readonly concurrency?: number;
  /** In bytes: the largest body. @default 4194304 */
  readonly bodyLimit?: number;
}

/** The limits of a multipart body that is sent to a route of yours. */
export interface UploadLimits {
  /** In bytes: the largest body, files and fields together. @default 10485760 */
  readonly bodyLimit?: number;
  /** The largest number of files. @default 10 */
  readonly maxFiles?: number;
  /** The largest number of fields, also of urlencoded forms. @default 100 */
  readonly maxFields?: number;
}

/** A limit of requests in a window of time. */
export interface RequestLimit {
  /** The largest number of requests, from 1 to 1,000,000,000. */
  readonly requests: number;
  /** The length of the window, at most a day. It begins with the first request. */
  readonly per: Duration;
}

/** The limits of an API, with defaults applied. */
export interface Limits {
  readonly bodyLimit: number;
  readonly bulk: Required<BulkLimits>;
  readonly uploads: Required<UploadLimits>;
}

/**
 * Applies the defaults of the limits.
 *
 * @throws ConfigError for a limit that is not a whole number above 0
 */
export function checkLimits({
  bodyLimit = 64 * 1024,
  bulk = {},
  uploads = {},
}: {
  bodyLimit?: number | undefined;
  bulk?: BulkLimits | undefined;
  uploads?: UploadLimits | undefined;
}): Limits {
  checkKnownOptions(bulk, { maximum: true, concurrency: true, bodyLimit: true }, 'bulk');
  checkKnownOptions(uploads, { bodyLimit: true, maxFiles: true, maxFields: true }, 'uploads');
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

const DAY = 86_400;

/**
 * @param option - the limit's name in errors
 * @throws ConfigError for a wrong limit
 */
export function checkRequestLimit(
  option: string,
  limit: RequestLimit,
): { readonly requests: number; readonly window: number } {
  const { requests, per } = checkKnownOptions(limit, { requests: true, per: true }, option);
  const window = checkDuration(`${option}.per`, per, 1);
  if (window > DAY) throw new ConfigError(`${option}.per`, 'give at most 1 day');
  return Object.freeze({ requests: checkInteger(`${option}.requests`, requests, 1, 1_000_000_000), window });
}

const MEBIBYTE = 1024 * 1024;
