import type { Seconds } from '../contracts/duration.ts';
import { object, optional, pick, readOptions } from '../options/declare.ts';
import type { Check, Given, Values } from '../options/declare.ts';
import { duration, integer } from '../options/values.ts';

const BULK = {
  /** The largest number of items. @default 1000 */
  maxItems: optional(integer(1), 1000),
  /** How many items run concurrently; choose fewer than the database pool has connections. @default 4 */
  concurrency: optional(integer(1), 4),
  /** The largest body, in bytes. @default 4194304 */
  maxBodyBytes: optional(integer(1), 4 * 2 ** 20),
  /**
   * How long a bulk whose results are streamed may take, at most a day. After that, no further item is started, and the connection is
   * closed.
   * @default '10 minutes'
   */
  streamTimeout: optional(duration(1, 86_400, 'give at most 1 day'), '10 minutes'),
};

const UPLOADS = {
  /** The largest body, files and fields together, in bytes. @default 10485760 */
  maxBodyBytes: optional(integer(1), 10 * 2 ** 20),
  /** The largest number of files. @default 10 */
  maxFiles: optional(integer(1), 10),
  /** The largest number of fields, in urlencoded forms too. @default 100 */
  maxFields: optional(integer(1), 100),
};

const REQUEST_LIMIT = {
  /** The largest number of requests, from 1 to 1,000,000,000. */
  requests: integer(1, { most: 1_000_000_000 }),
  /** The length of the window, at most a day. It begins with the first request. */
  window: duration(1, 86_400, 'give at most 1 day'),
};

/** A limit of requests in a window of time. */
export interface RequestLimit extends Given<typeof REQUEST_LIMIT> {}

/** A limit with its window in seconds. */
export const requestLimit: Check<RequestLimit, { readonly requests: number; readonly window: Seconds }> = (
  place,
  given,
) => {
  const { window: per, requests } = readOptions(REQUEST_LIMIT, given, place);
  return { requests, window: per };
};

const REQUEST_LIMITS = {
  /** The limit of one user, with all clients together. @default none */
  user: optional(requestLimit),
  /** The limit of one client, with its own tokens and those of all its users together. @default none */
  client: optional(requestLimit),
  /**
   * The limit for each action, of one user with all clients together, or of one client with its own tokens. An action's own `limit`
   * replaces it. @default none
   */
  action: optional(requestLimit),
};

/** How many requests each caller may send. They are counted on all nodes together. */
export interface RequestLimits extends Given<typeof REQUEST_LIMITS> {}

/** The limits of requests, with their windows in seconds. */
export type CallerLimits = Values<typeof REQUEST_LIMITS>;

export const requestLimits: Check<RequestLimits, CallerLimits> = object(REQUEST_LIMITS);

/** The limits of the bodies and bulks of an API. */
export const LIMITS = {
  /** The largest body of an action, and the largest JSON body or form of a route of yours, in bytes. @default 65536 */
  maxBodyBytes: optional(integer(1), 64 * 1024),
  /** The limits of a bulk. */
  bulk: optional(object(BULK), {}),
  /** The limits of a multipart body that is sent to a route of yours. */
  uploads: optional(object(UPLOADS), {}),
};

const BODY_LIMITS = pick(LIMITS, 'maxBodyBytes', 'uploads');

/** The limits of a body that is sent to one route of yours. For limits that are left out, those of the API apply. */
export interface RouteLimits extends Given<typeof BODY_LIMITS> {}

export type BodyLimits = Values<typeof BODY_LIMITS>;

/** The limits of a route, with those of the API as defaults. */
export function limitsOfRoute(given: RouteLimits, { maxBodyBytes, uploads }: BodyLimits): BodyLimits {
  const { maxBodyBytes: uploadLimit, maxFields, maxFiles } = uploads;
  const declared = {
    maxBodyBytes: optional(integer(1), maxBodyBytes),
    uploads: optional(
      object({
        maxBodyBytes: optional(integer(1), uploadLimit),
        maxFiles: optional(integer(1), maxFiles),
        maxFields: optional(integer(1), maxFields),
      }),
      {},
    ),
  };
  return readOptions(declared, given, 'parseBody()');
}
