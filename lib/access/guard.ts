import type { Next, ParameterizedContext } from 'koa';

import type {
  GuardedState,
  GuardOutcome,
  Logger,
  Principal,
  StoredChange,
  Trace,
  User,
} from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { overloadProblem } from '../http/concurrency-limit.ts';
import { sendError, sendProblem } from '../http/problem.ts';
import { createAuthenticator } from './authenticator.ts';
import type { AuthenticatorOptions, VerifiedToken } from './authenticator.ts';
import { readBearerToken } from './bearer-token.ts';
import type { AuthFailure } from './bearer-token.ts';
import { unauthorized } from './challenge.ts';
import type { ChallengedApi } from './challenge.ts';

/** What `createGuard()` takes. */
export interface GuardOptions<P extends string = string, U extends User = User> extends AuthenticatorOptions<
  P,
  U
> {
  /** The API that the tokens are for. */
  readonly api: ChallengedApi;
  readonly logger: Logger;
  /** Traces the verification of tokens. @default none */
  readonly trace?: Trace;
  /** `guarded` is called with the outcome of each request. @default none */
  readonly observers?: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
  /** Requests are refused while it is closing. Omitted: they never are. */
  readonly server?: { readonly isClosing: boolean };
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

/** The guard, with the invalidation of its cache. */
export type Guard<P extends string = string, U extends User = User> = GuardMiddleware<P, U> & {
  /**
   * Removes tokens from the cache, so that a revocation on this node takes effect at once. Call it after the revocation is
   * stored. Without a match, all tokens are removed.
   */
  forget(match?: StoredChange): void;
};

/**
 * Creates the middleware that authenticates the requests of an API (RFC 6750).
 *
 * With a valid token of a user, `ctx.state.user` is set and `ctx.state.client` is undefined; with a token of a client, the
 * reverse. `ctx.state.principal` is set for both. The objects are shared by all requests of the next `revocationLag` seconds:
 * treat them as read-only. Without a valid token, the answer is 401 with a challenge; when the storage is unavailable, 503.
 */
export function createGuard<P extends string, U extends User>(options: GuardOptions<P, U>): Guard<P, U> {
  const { api, logger, observers, server, trace } = options;
  const authenticator = createAuthenticator(options);

  function answer(result: VerifiedToken<P, U> | AuthFailure, ctx: GuardContext<P, U>, next: Next): unknown {
    if ('claims' in result) {
      setPrincipal(ctx.state, result.principal);
      return next();
    }
    observers?.guarded?.({ admitted: false, code: result.code });
    sendProblem(ctx, unauthorized(api, result));
    return undefined;
  }

  async function authenticate(token: string, ctx: GuardContext<P, U>, next: Next): Promise<unknown> {
    const startedAt = performance.now();
    let result;
    try {
      result = await verifyInTrace(token);
    } catch (error) {
      observers?.guarded?.({ admitted: false, code: codeOf(error) });
      // An error of the host's user store is left to the host's error handler.
      if (!(error instanceof GatehouseError)) throw error;
      sendError(ctx, error, logger);
      return undefined;
    }
    if ('claims' in result && observers?.guarded) {
      const seconds = (performance.now() - startedAt) / 1000;
      observers.guarded({ admitted: true, remembered: false, seconds });
    }
    return answer(result, ctx, next);
  }

  async function verifyInTrace(token: string): Promise<VerifiedToken<P, U> | AuthFailure> {
    if (!trace) return authenticator.authenticate(token);
    return trace('gatehouse.guard', async (span) => {
      const result = await authenticator.authenticate(token);
      span?.set(
        'claims' in result ? { 'oauth.client_id': result.claims.client_id } : { 'error.type': result.code },
      );
      return result;
    });
  }

  function refuseWhileClosing(ctx: GuardContext<P, U>): void {
    const problem = overloadProblem('closing');
    observers?.guarded?.({ admitted: false, code: problem.code });
    sendProblem(ctx, problem);
  }

  // Not async: a cached token needs no additional promise.
  function guard(ctx: GuardContext<P, U>, next: Next): unknown {
    if (server?.isClosing) return refuseWhileClosing(ctx);
    const token = readBearerToken(ctx.req);
    if (typeof token !== 'string') return answer(token, ctx, next);
    const known = authenticator.findCached(token);
    if (known === undefined) return authenticate(token, ctx, next);
    observers?.guarded?.(CACHED);
    return answer(known, ctx, next);
  }

  return Object.assign(guard, { forget: (match?: StoredChange) => authenticator.forget(match) });
}

const CACHED: GuardOutcome = Object.freeze({ admitted: true, remembered: true });

function codeOf(error: unknown): string {
  return error instanceof GatehouseError && error.status === 503
    ? 'temporarily_unavailable'
    : 'internal_error';
}

/** Sets the user or the client of a request on `ctx.state`. */
export function setPrincipal(
  state: { user?: unknown; client?: unknown; principal?: unknown },
  principal: Principal,
): void {
  // Both are always set, because a host's middleware may have set its own `state.user`.
  state.user = principal.user;
  state.client = principal.type === 'client' ? principal.client : undefined;
  state.principal = principal;
}
