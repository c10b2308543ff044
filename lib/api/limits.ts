import type { Seconds } from '../contracts/duration.ts';
import { object, optional, pick, readOptions } from '../options/declare.ts';
import type { Check, Given, Values } from '../options/declare.ts';
import { duration, integer } from '../options/values.ts';

const BULK = {
  /** The largest number of items. @default 1000 */
  maximum: optional(integer(1), 1000),
  /** How many items run concurrently; choose fewer than the database pool has connections. @default 4 */
  concurrency: optional(integer(1), 4),
  /** In bytes: the largest body. @default 4194304 */
  bodyLimit: optional(integer(1), 4 * 2 ** 20),
  /**
   * How long a bulk whose results are streamed may take, at most a day. After that, no further item is started, and the connection is
   * closed.
   * @default '10 minutes'
   */
  streamTimeout: optional(duration(1, 86_400, 'give at most 1 day'), '10 minutes'),
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

/** A limit with its window in seconds. */
export const requestLimit: Check<RequestLimit, { readonly requests: number; readonly window: Seconds }> = (
  place,
  given,
) => {
  const { per, requests } = readOptions(REQUEST_LIMIT, given, place);
  return { requests, window: per };
};

const REQUEST_LIMITS = {
  /** Of one user, with all clients together. @default none */
  user: optional(requestLimit),
  /** Of one client, with its own tokens and those of all its users together. @default none */
  client: optional(requestLimit),
  /**
   * Of one user with all clients together, or of one client with its own tokens, to each one of the actions. An action's own `limit`
   * replaces it. @default none
   */
  action: optional(requestLimit),
};

/** How many requests each caller may send. They are counted on all nodes together. */
export interface RequestLimits extends Given<typeof REQUEST_LIMITS> {}

/** The same with their windows in seconds. */
export type CallerLimits = Values<typeof REQUEST_LIMITS>;

export const requestLimits: Check<RequestLimits, CallerLimits> = object(REQUEST_LIMITS);

/** The limits of the bodies and bulks of an API. */
export const LIMITS = {
  /** In bytes: the largest body of an action, and the largest JSON body or form of a route of yours. @default 65536 */
  bodyLimit: optional(integer(1), 64 * 1024),
  /** The limits of a bulk. */
  bulk: optional(object(BULK), {}),
  /** The limits of a multipart body that is sent to a route of yours. */
  uploads: optional(object(UPLOADS), {}),
};

const BODY_LIMITS = pick(LIMITS, 'bodyLimit', 'uploads');

/** The limits of a body that is sent to one route of yours. Those that are left out are those of the API. */
export interface RouteLimits extends Given<typeof BODY_LIMITS> {}

export type BodyLimits = Values<typeof BODY_LIMITS>;

/** The limits of a route, with those of the API as defaults. */
export function limitsOfRoute(given: RouteLimits, { bodyLimit, uploads }: BodyLimits): BodyLimits {
  const { bodyLimit: uploadLimit, maxFields, maxFiles } = uploads;
  const declared = {
    bodyLimit: optional(integer(1), bodyLimit),
    uploads: optional(
      object({
        bodyLimit: optional(integer(1), uploadLimit),
        maxFiles: optional(integer(1), maxFiles),
        maxFields: optional(integer(1), maxFields),
      }),
      {},
    ),
  };
  return readOptions(declared, given, 'parseBody()');
}
