import type { IncomingMessage } from 'node:http';

import type { Next, ParameterizedContext } from 'koa';

import { secondsSince } from '../contracts/clock.ts';
import type {
  ConcurrencyLimit,
  GuardedState,
  GuardOutcome,
  Logger,
  Principal,
  StoredChange,
  Trace,
  User,
} from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { overloadProblem } from '../limits/concurrency-limit.ts';
import { sendError, sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { createAuthenticator } from './authenticator.ts';
import type { AuthenticatorOptions } from './authenticator.ts';
import { AUTH_FAILURES, unauthorized } from './challenge.ts';
import type { AuthFailure, ChallengedApi } from './challenge.ts';
import { createReauthentication, setPrincipal } from './reauthentication.ts';
import type { Reauthenticate } from './reauthentication.ts';
import type { AuthenticateSession } from './session.ts';

/** What `createGuard()` takes. */
export interface GuardOptions<P extends string = string, U extends User = User> extends AuthenticatorOptions<
  P,
  U
> {
  /** The API that the tokens are for. */
  readonly api: ChallengedApi;
  readonly logger: Logger;
  /** Traces the verification of tokens, and what is read for sessions. @default none */
  readonly trace?: Trace;
  /** `guarded` is called with the outcome of each request. @default none */
  readonly observers?: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
  /** Requests are refused while it refuses them. Omitted: none is. */
  readonly server?: Pick<ConcurrencyLimit, 'refusal'>;
}

/** A Koa context with the user or the client of the request in `state`. */
export type GuardContext<P extends string, U extends User, S extends object = object> = ParameterizedContext<
  GuardedState<P, U, S>
>;

/**
 * Passes a request with a valid access token to the next middleware, with its user or client in `ctx.state`.
 *
 * Typed as a method, whose parameters are bivariant: a server with known permissions can be passed where any server is
 * expected.
 */
export type GuardMiddleware<P extends string = string, U extends User = User, S extends object = object> = {
  /** The middleware itself. */
  guard(ctx: GuardContext<P, U, S>, next: Next): unknown;
}['guard'];

/** A guard, with the function that authenticates a request again which it has admitted. */
type RepeatableGuard<P extends string, U extends User> = GuardMiddleware<P, U> & {
  reauthenticatorOf(this: void, ctx: GuardContext<P, U>): Reauthenticate<P, U>;
};

/** The guard, with the invalidation of its cache. */
export type Guard<P extends string = string, U extends User = User> = RepeatableGuard<P, U> & {
  /**
   * Removes tokens from the cache, so that a revocation on this node takes effect at once. Call it after the revocation is
   * stored. Without a match, all tokens are removed.
   */
  forget(match?: StoredChange): void;
  /** The same guard, which also accepts requests without a token that the function authenticates. */
  withSessions(authenticateSession: AuthenticateSession<P, U>): RepeatableGuard<P, U>;
};

/**
 * The function that authenticates a request again, after its body has arrived and while it goes on. Create it for each request, when
 * the guard has admitted it.
 *
 * @param guard - what `auth.guard()` returned
 */
export function reauthenticatorOf<P extends string, U extends User, S extends object>(
  guard: GuardMiddleware<P, U, S>,
): RepeatableGuard<P, U>['reauthenticatorOf'] {
  return (guard as unknown as RepeatableGuard<P, U>).reauthenticatorOf;
}

/**
 * Creates the middleware that authenticates the requests of an API (RFC 6750).
 *
 * With a valid token of a user, `ctx.state.user` is set and `ctx.state.client` is undefined; with a token of a client, the
 * reverse. `ctx.state.principal` is set for both. The objects are shared by all requests of the next `tokens.revocationLag` seconds:
 * treat them as read-only. Without a valid token, the answer is 401 with a challenge; when the storage is unavailable, 503.
 */
export function createGuard<P extends string, U extends User>(options: GuardOptions<P, U>): Guard<P, U> {
  const { api, logger, now = () => Date.now(), observers, revocationLag, server, trace } = options;
  const authenticator = createAuthenticator(options);
  const count = ({ code }: Problem): void => observers?.guarded?.({ admitted: false, code });
  const again = createReauthentication({ api, authenticator, now, onEnd: count, revocationLag });

  function refuse(ctx: GuardContext<P, U>, problem: Problem): undefined {
    count(problem);
    sendProblem(ctx, problem);
    return undefined;
  }

  // Admitted requests have a token.
  const ofToken = (ctx: GuardContext<P, U>): Reauthenticate<P, U> =>
    again.ofToken(readBearerToken(ctx.req) as string);

  /** @param load - reads the principal, or the problem to answer with */
  async function authenticate(
    ctx: GuardContext<P, U>,
    next: Next,
    load: () => Promise<Principal<P, U> | Problem>,
  ): Promise<unknown> {
    const startedAt = performance.now();
    let result;
    try {
      result = trace ? await loadInTrace(trace, load) : await load();
    } catch (error) {
      observers?.guarded?.({ admitted: false, code: codeOf(error) });
      // An error of the host's user store is left to the host's error handler, unless its database is away.
      if (!(error instanceof GatehouseError || isUnavailable(error))) throw error;
      sendError(ctx, error, logger);
      return undefined;
    }
    if ('status' in result) return refuse(ctx, result);
    const seconds = secondsSince(startedAt);
    observers?.guarded?.({ admitted: true, remembered: false, credential: result.credential, seconds });
    setPrincipal(ctx.state, result);
    return next();
  }

  async function loadToken(token: string, ctx: GuardContext<P, U>): Promise<Principal<P, U> | Problem> {
    const result = await authenticator.authenticate(token);
    if (!('principal' in result)) return unauthorized(api, result);
    result.onUse?.(ctx.ip);
    return result.principal;
  }

  // Not async: a cached token needs no additional promise.
  function guard(ctx: GuardContext<P, U>, next: Next): unknown {
    const refusal = server?.refusal;
    if (refusal !== undefined) return refuse(ctx, overloadProblem(refusal));
    const token = readBearerToken(ctx.req);
    if (typeof token !== 'string') return refuse(ctx, unauthorized(api, token));
    const known = authenticator.findCached(token);
    if (known === undefined) return authenticate(ctx, next, async () => loadToken(token, ctx));
    known.onUse?.(ctx.ip);
    observers?.guarded?.(cachedOutcome(known.principal.credential));
    setPrincipal(ctx.state, known.principal);
    return next();
  }

  return Object.assign(guard, {
    forget: (match?: StoredChange) => authenticator.forget(match),
    reauthenticatorOf: ofToken,
    withSessions(authenticateSession: AuthenticateSession<P, U>) {
      function guardWithSessions(ctx: GuardContext<P, U>, next: Next): unknown {
        ctx.vary(['Authorization', 'Cookie']);
        // A request with a token is that of the token, however wrong the token is.
        if (ctx.headers.authorization !== undefined || IN_URL.test(ctx.url)) return guard(ctx, next);
        const refusal = server?.refusal;
        if (refusal !== undefined) return refuse(ctx, overloadProblem(refusal));
        // A route may set another value.
        ctx.set('Cache-Control', 'no-store');
        return authenticate(ctx, next, async () => authenticateSession(ctx));
      }
      return Object.assign(guardWithSessions, {
        reauthenticatorOf(ctx: GuardContext<P, U>) {
          const { principal } = ctx.state;
          return principal.credential === 'session'
            ? again.ofSession(ctx, principal, authenticateSession)
            : ofToken(ctx);
        },
      });
    },
  });
}

async function loadInTrace<P extends string, U extends User>(
  trace: Trace,
  load: () => Promise<Principal<P, U> | Problem>,
): Promise<Principal<P, U> | Problem> {
  return trace('gatehouse.guard', async (span) => {
    const result = await load();
    span?.set('status' in result ? { 'error.type': result.code } : { 'oauth.client_id': result.client?.id });
    return result;
  });
}

// Made once, because one is the outcome of almost every request.
const CACHED = new Map<string, GuardOutcome>();

function cachedOutcome(credential: Principal['credential']): GuardOutcome {
  const known = CACHED.get(credential);
  if (known) return known;
  const outcome: GuardOutcome = Object.freeze({ admitted: true, remembered: true, credential });
  CACHED.set(credential, outcome);
  return outcome;
}

function codeOf(error: unknown): string {
  return isUnavailable(error) ? 'temporarily_unavailable' : 'internal_error';
}

/**
 * Reads the token of a request from the `Authorization` header field only, because RFC 9700 section 4.3.2 rules out the query.
 * Bodies are not read: a member `access_token` in a body belongs to the host's API.
 *
 * Runs for every request, so it checks only what a cached token needs; the authenticator checks the form of other tokens.
 */
function readBearerToken(request: IncomingMessage): string | AuthFailure {
  const header = request.headers.authorization;
  const inUrl = IN_URL.test(request.url ?? '');
  if (header === undefined) return inUrl ? AUTH_FAILURES.misplaced : AUTH_FAILURES.missing;
  if (!header.startsWith('Bearer ') && !BEARER.test(header)) return AUTH_FAILURES.missing;
  if (inUrl) return AUTH_FAILURES.misplaced;
  if (isRepeated(request.rawHeaders)) return AUTH_FAILURES.repeated;
  return header.slice('Bearer '.length);
}

// The scheme is case-insensitive (RFC 9110 section 11.1). Without a token behind it, the field is a malformed Bearer field.
const BEARER = /^bearer(?: |$)/i;

// Refused also when the header field is valid: every server on the path logs the URL.
const IN_URL = /[?&]access_token=/;

// Node uses the first of several Authorization fields; a proxy in front may have used the last.
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}
