import type { Next, ParameterizedContext } from 'koa';

import type { Gate, GuardedState, Logger, ObjectsOf, PermissionOf, User } from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { sendError, sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { createAdmission } from './admission.ts';
import type { Admission, AdmissionOptions, Admitted, TokenAdmission } from './admission.ts';
import { setPrincipal } from './reauthentication.ts';
import type { AuthenticateSession } from './session.ts';

/** What `createGuard()` takes. */
export interface GuardOptions<P extends string = string, U extends User = User> extends AdmissionOptions<
  P,
  U
> {
  readonly logger: Logger;
}

/** A Koa context behind the guard, with the user or the client of the request in `state`: `GuardContext<typeof gate, Person>`. */
export type GuardContext<G extends Gate = Gate, U extends User = User> = GuardedContext<
  PermissionOf<G>,
  U,
  ObjectsOf<G>
>;

type GuardedContext<P extends string, U extends User, S extends object = object> = ParameterizedContext<
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
  guard(ctx: GuardedContext<P, U, S>, next: Next): unknown;
}['guard'];

/** A guard, with how it admits requests. */
export type AdmittingGuard<P extends string, U extends User> = Admission<P, U> & GuardMiddleware<P, U>;

/** The guard of an API. */
export type Guard<P extends string = string, U extends User = User> = AdmittingGuard<P, U> &
  Pick<TokenAdmission<P, U>, 'forget' | 'verify'> & {
    /** The same guard, which also accepts requests without a token that the function authenticates. */
    withSessions(authenticateSession: AuthenticateSession<P, U>): AdmittingGuard<P, U>;
  };

/**
 * The function that authenticates a request again, after its body has arrived and while it goes on. Create it for each request, when
 * the guard has admitted it.
 *
 * @param guard - what `auth.guard()` returned
 */
export function reauthenticatorOf<P extends string, U extends User, S extends object>(
  guard: GuardMiddleware<P, U, S>,
): AdmittingGuard<P, U>['reauthenticatorOf'] {
  return (guard as unknown as AdmittingGuard<P, U>).reauthenticatorOf;
}

/**
 * Creates the middleware that authenticates the requests of an API (RFC 6750).
 *
 * With a valid token of a user, `ctx.state.user` is set and `ctx.state.client` is undefined; with a token of a client, the
 * reverse. `ctx.state.principal` is set for both. The objects are shared by all requests of the next `tokens.revocationLag` seconds:
 * treat them as read-only. Without a valid token, the answer is 401 with a challenge; when the storage is unavailable, 503.
 */
export function createGuard<P extends string, U extends User>(options: GuardOptions<P, U>): Guard<P, U> {
  const { logger } = options;
  const { forget, verify, withSessions, ...ofTokens } = createAdmission(options);

  function answer(ctx: GuardedContext<P, U>, next: Next, admitted: Admitted<P, U> | Problem): unknown {
    if ('status' in admitted) return sendProblem(ctx, admitted);
    setPrincipal(ctx.state, admitted.principal);
    return next();
  }

  async function answerLater(
    ctx: GuardedContext<P, U>,
    next: Next,
    admitting: Promise<Admitted<P, U> | Problem>,
  ): Promise<unknown> {
    let admitted;
    try {
      admitted = await admitting;
    } catch (error) {
      if (!hasProblem(error)) throw error;
      return sendError(ctx, error, logger);
    }
    return answer(ctx, next, admitted);
  }

  function guardBy(admission: Admission<P, U>): AdmittingGuard<P, U> {
    function guard(ctx: GuardedContext<P, U>, next: Next): unknown {
      const admitted = admission.admit(ctx);
      return admitted instanceof Promise ? answerLater(ctx, next, admitted) : answer(ctx, next, admitted);
    }
    return Object.assign(guard, admission);
  }

  return Object.assign(guardBy(ofTokens), {
    forget,
    verify,
    withSessions: (authenticateSession: AuthenticateSession<P, U>) =>
      guardBy(withSessions(authenticateSession)),
  });
}

/** Whether a failure is answered with a problem. An error of the host's user store is left to the host, unless its database cannot be reached. */
export function hasProblem(error: unknown): boolean {
  return error instanceof GatehouseError || isUnavailable(error);
}
