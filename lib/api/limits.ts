import { object, optional, readOptions } from '../options/declare.ts';
import type { Given, Values } from '../options/declare.ts';
import { duration, integer } from '../options/values.ts';

const BULK = {
  /** The largest number of items. @default 1000 */
  maximum: optional(integer(1), 1000),
  /** How many items run concurrently; choose fewer than the database pool has connections. @default 4 */
  concurrency: optional(integer(1), 4),
  /** In bytes: the largest body. @default 4194304 */
  bodyLimit: optional(integer(1), 4 * 2 ** 20),
};

/** The limits of a bulk request. */
export interface BulkLimits extends Given<typeof BULK> {}

const UPLOADS = {
  /** In bytes: the largest body, files and fields together. @default 10485760 */
  bodyLimit: optional(integer(1), 10 * 2 ** 20),
  /** The largest number of files. @default 10 */
  maxFiles: optional(integer(1), 10),
  /** The largest number of fields, also of urlencoded forms. @default 100 */
  maxFields: optional(integer(1), 100),
};

/** The limits of a multipart body that is sent to a route of yours. */
export interface UploadLimits extends Given<typeof UPLOADS> {}

const REQUEST_LIMIT = {
  /** The largest number of requests, from 1 to 1,000,000,000. */
  requests: integer(1, { most: 1_000_000_000 }),
  /** The length of the window, at most a day. It begins with the first request. */
  per: duration(1, 86_400, 'give at most 1 day'),
};

/** A limit of requests in a window of time. */
export interface RequestLimit extends Given<typeof REQUEST_LIMIT> {}

const LIMITS = {
  bodyLimit: optional(integer(1), 64 * 1024),
  bulk: optional(object(BULK), {}),
  uploads: optional(object(UPLOADS), {}),
};

/** The limits of an API, with defaults applied. */
export type Limits = Values<typeof LIMITS>;

/** Applies the defaults of the limits. @throws ConfigError for a limit that is not a whole number above 0 */
export function checkLimits({ bodyLimit, bulk, uploads }: Given<typeof LIMITS>): Limits {
  return readOptions(LIMITS, { bodyLimit, bulk, uploads });
}

/**
 * @param option - the limit's name in errors
 * @throws ConfigError for a wrong limit
 */
export function checkRequestLimit(
  option: string,
  limit: RequestLimit,
): { readonly requests: number; readonly window: number } {
  const { per, requests } = readOptions(REQUEST_LIMIT, limit, option);
  return { requests, window: per };
}
