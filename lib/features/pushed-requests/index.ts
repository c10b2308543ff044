import { objectOrFalse, optional, readOptions } from '../../options/declare.ts';
import type { Given } from '../../options/declare.ts';
import { duration, integer } from '../../options/values.ts';
import type { Feature } from '../feature.ts';
import { PUSHED_REQUEST_EVENTS } from './events.ts';
import { PUSHING, PUSHING_WITH_KEY } from './first-call.ts';
import { isRequired, requiredOption } from './required.ts';

const REQUESTS = {
  /** Requests from one address for all public clients together; confidential clients, which authenticate, do not count. @default 100 */
  perAddress: optional(integer(1), 100),
  /** Requests of one confidential client. Public clients have no such limit, because strangers could use it up. @default 10000 */
  perClient: optional(integer(1), 10_000),
  /** The length of the window, from the first request on. @default '10 minutes' */
  window: optional(duration(1), '10 minutes'),
};

export const PUSHED_REQUESTS = {
  /** How long a browser may take to begin a request: 10 seconds to 10 minutes. Its login and its consent may take longer. @default '60 seconds' */
  lifetime: optional(duration(10, 600), '60 seconds'),
  /**
   * Whether authorization requests that were not pushed are refused: of all clients, or of those for which a function says so. It is asked
   * again when the client was changed. @default false
   */
  required: optional(requiredOption, false),
  /**
   * Limits of pushed requests, each of which stores a row; `false` for no limits. Over a limit, the response is 429 with `Retry-After`.
   */
  requests: optional(objectOrFalse(REQUESTS), {}),
};

/** Settings of pushed authorization requests (RFC 9126). */
export interface PushedRequestOptions extends Given<typeof PUSHED_REQUESTS> {}

/**
 * Pushed authorization requests (RFC 9126): an app sends the parameters of an authorization request to `/oauth/par` itself, and its user's
 * browser gets a reference only, which leads to one code. So nobody in between can read or change them.
 *
 *     createAuthServer({ …, features: [pushedRequests({ required: ({ confidential }) => confidential })] })
 *
 * @throws ConfigError for a wrong option
 */
export function pushedRequests(options: PushedRequestOptions = {}): Feature {
  const settings = readOptions(PUSHED_REQUESTS, options, 'pushedRequests()');
  return {
    name: 'pushedRequests',
    events: PUSHED_REQUEST_EVENTS,
    firstCall(kind, client) {
      if (kind !== 'authorization_code' || !isRequired(settings.required, client)) return undefined;
      return client?.keys ? PUSHING_WITH_KEY : PUSHING;
    },
    install: async (core) => (await import('./install.ts')).installPushedRequests(core, settings),
  };
}

/** The options, complete. */
export type PushedRequestSettings = ReturnType<typeof readOptions<typeof PUSHED_REQUESTS>>;

// So that the compiler finds what it adds to the events wherever a program imports the feature.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './events.ts';
