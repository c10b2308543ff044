import type { IncomingMessage } from 'node:http';

import type { Next, ParameterizedContext } from 'koa';

import type { Gate, GuardedState, GuardOutcome, Logger, Principal, Trace, User } from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { overloadProblem } from '../http/concurrency-limit.ts';
import { sendError, sendProblem } from '../http/problem.ts';
import type { Invalidated } from '../tokens/cache-invalidation.ts';
import { createAuthenticator } from './authenticator.ts';
import type { AuthenticatorOptions, KnownToken } from './authenticator.ts';
import { readBearerToken, AUTH_FAILURES, unauthorized } from './bearer-token.ts';
import type { AuthFailure } from './bearer-token.ts';
import type { FindClientPermissions, UserAssignments, PrincipalRules } from './principal.ts';

/** What `createGuard()` takes. */
export interface GuardOptions<P extends string = string, U extends User = User> extends AuthenticatorOptions<
  P,
  U
> {
  /** The issuer: names in a 401 what the token must be for. */
  readonly realm: string;
  readonly logger: Logger;
  /** Puts the verification of a token into a trace. @default none */
  readonly trace?: Trace;
  /** Told of each request, if anybody is. */
  readonly observers?: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
  /** Whose requests are refused, once it is closing. Left out: it never does. */
  readonly server?: { readonly isClosing: boolean };
  /** What the test kit makes principals with. Left out: nobody gets in without a token. */
  readonly sources?: PrincipalSources;
}

/** A Koa context whose `state` says who calls. */
export type GuardContext<P extends string, U extends User, S extends object = object> = ParameterizedContext<
  GuardedState<P, U, S>
>;

/**
 * Lets a request through when it carries a good access token, and says on `ctx.state` who calls.
 *
 * Typed as a method: a server that knows its permissions is accepted where any server will do.
 */
export type GuardMiddleware<P extends string = string, U extends User = User, S extends object = object> = {
  /** The middleware itself. */
  guard(ctx: GuardContext<P, U, S>, next: Next): unknown;
}['guard'];

/** The guard, and the way to tell it about a revocation. */
export type Guard<P extends string = string, U extends User = User> = GuardMiddleware<P, U> & {
  /**
   * Forgets tokens, so that a revocation made on this node works at once. Call it after the storage has the revocation.
   * Without a match it forgets all of them.
   */
  forget(match?: Invalidated): void;
};

/**
 * Makes the middleware that stands in front of an API (RFC 6750).
 *
 * With a good token, `ctx.state.user` is the user and `ctx.state.client` is undefined, or the other way round for a
 * token of a client; `ctx.state.principal` has both cases. The objects are shared by the requests of the next
 * `revocationLag` seconds: treat them as read-only. Without one, it answers 401 with a challenge; when the storage
 * cannot be reached, 503.
 */
export function createGuard<P extends string, U extends User>(options: GuardOptions<P, U>): Guard<P, U> {
  const { logger, observers, realm, server, sources, trace } = options;
  const authenticator = createAuthenticator(options);

  function answer(result: KnownToken<P, U> | AuthFailure, ctx: GuardContext<P, U>, next: Next): unknown {
    if ('claims' in result) {
      admit(ctx.state, result.principal);
      return next();
    }
    observers?.guarded?.({ admitted: false, code: result.code });
    sendProblem(ctx, unauthorized(realm, result));
    return undefined;
  }

  async function authenticate(token: string, ctx: GuardContext<P, U>, next: Next): Promise<unknown> {
    const startedAt = performance.now();
    let result;
    try {
      result = await verifyInTrace(token);
    } catch (error) {
      observers?.guarded?.({ admitted: false, code: codeOf(error) });
      // An error of the host's own user store is the host's to handle.
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

  async function verifyInTrace(token: string): Promise<KnownToken<P, U> | AuthFailure> {
    if (!trace) return authenticator.authenticate(token);
    return trace('gatehouse.guard', async (span) => {
      const result = await authenticator.authenticate(token);
      span?.set(
        'claims' in result ? { 'oauth.client_id': result.claims.client_id } : { 'error.type': result.code },
      );
      return result;
    });
  }

  async function admitImpersonated(
    ctx: GuardContext<P, U>,
    next: Next,
    principal: ReturnType<Impersonation>,
  ): Promise<unknown> {
    admit(ctx.state, await principal);
    return next();
  }

  function withoutToken(failure: AuthFailure, ctx: GuardContext<P, U>, next: Next): unknown {
    const impersonation = failure === AUTH_FAILURES.missing ? impersonations.get(ctx.req) : undefined;
    return impersonation && sources
      ? admitImpersonated(ctx, next, impersonation(sources))
      : answer(failure, ctx, next);
  }

  function refuseAtEnd(ctx: GuardContext<P, U>): void {
    const problem = overloadProblem('closing');
    observers?.guarded?.({ admitted: false, code: problem.code });
    sendProblem(ctx, problem);
  }

  // Not async: a known token needs no promise of ours.
  function guard(ctx: GuardContext<P, U>, next: Next): unknown {
    if (server?.isClosing) return refuseAtEnd(ctx);
    const token = readBearerToken(ctx.req);
    if (typeof token !== 'string') return withoutToken(token, ctx, next);
    const known = authenticator.recall(token);
    if (known === undefined) return authenticate(token, ctx, next);
    observers?.guarded?.(REMEMBERED);
    return answer(known, ctx, next);
  }

  return Object.assign(guard, { forget: (match?: Invalidated) => authenticator.forget(match) });
}

const REMEMBERED: GuardOutcome = Object.freeze({ admitted: true, remembered: true });

function codeOf(error: unknown): string {
  return error instanceof GatehouseError && error.status === 503
    ? 'temporarily_unavailable'
    : 'internal_error';
}

/** Says on `ctx.state` who calls. */
export function admit(
  state: { user?: unknown; client?: unknown; principal?: unknown },
  principal: Principal,
): void {
  // Both are always set: a host's own middleware may have put its logged-in user there.
  state.user = principal.user;
  state.client = principal.type === 'client' ? principal.client : undefined;
  state.principal = principal;
}

/** What the server's own principals are made with. */
export interface PrincipalSources extends PrincipalRules {
  readonly gate: PrincipalRules['gate'] & Pick<Gate, 'has' | 'roles'>;
  readonly userAssignments: Pick<UserAssignments, 'of'>;
  readonly clientPermissions: FindClientPermissions;
}

/** Makes the principal that a request speaks for. */
export type Impersonation = (sources: PrincipalSources) => Promise<Principal>;

const impersonations = new WeakMap<IncomingMessage, Impersonation>();

/**
 * Lets a request through every guard of this process, unless it has a bearer token of its own. For the test kit: nothing in a
 * request can ask for it.
 */
export function impersonate(request: IncomingMessage, impersonation: Impersonation): void {
  impersonations.set(request, impersonation);
}
