import type { Next, ParameterizedContext } from 'koa';

import type { GuardedState, Logger, Principal, User } from '../contracts.ts';
import { GatehouseError } from '../errors.ts';
import { sendError, sendProblem } from '../http/problem.ts';
import { createAuthenticator } from './authenticator.ts';
import type { AuthenticatorOptions } from './authenticator.ts';
import { readBearerToken } from './bearer-token.ts';
import { unauthorized } from './challenge.ts';
import type { Refusal } from './challenge.ts';
import type { KnownToken, TokenMatch } from './token-cache.ts';

/** What `createGuard()` takes. */
export interface GuardOptions<P extends string = string, U extends User = User> extends AuthenticatorOptions<
  P,
  U
> {
  /** The issuer: names in a 401 what the token must be for. */
  readonly realm: string;
  readonly logger: Logger;
}

type GuardContext<P extends string, U extends User, S extends object = object> = ParameterizedContext<
  GuardedState<P, U, S>
>;

/**
 * Lets a request through when it carries a good access token, and says on `ctx.state` who calls.
 *
 * Typed as a method: a server that knows its permissions is accepted where any server will do.
 */
export type GuardMiddleware<P extends string = string, U extends User = User, S extends object = object> = {
  guard(ctx: GuardContext<P, U, S>, next: Next): unknown;
}['guard'];

/** The guard, and the way to tell it about a revocation. */
export type Guard<P extends string = string, U extends User = User> = GuardMiddleware<P, U> & {
  /**
   * Forgets tokens, so that a revocation made on this node works at once. Call it after the storage has the revocation.
   * Without a match it forgets all of them.
   */
  forget(match?: TokenMatch): void;
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
  const { realm, logger } = options;
  const authenticator = createAuthenticator(options);

  function answer(result: KnownToken<P, U> | Refusal, ctx: GuardContext<P, U>, next: Next): unknown {
    if ('claims' in result) {
      admit(ctx.state, result.principal);
      return next();
    }
    sendProblem(ctx, unauthorized(realm, result));
    return undefined;
  }

  async function authenticate(token: string, ctx: GuardContext<P, U>, next: Next): Promise<unknown> {
    let result;
    try {
      result = await authenticator.authenticate(token);
    } catch (error) {
      // An error of the host's own user store is the host's to handle.
      if (!(error instanceof GatehouseError)) throw error;
      sendError(ctx, error, logger);
      return undefined;
    }
    return answer(result, ctx, next);
  }

  // Not async: a known token needs no promise of ours.
  function guard(ctx: GuardContext<P, U>, next: Next): unknown {
    const token = readBearerToken(ctx.req);
    if (typeof token !== 'string') return answer(token, ctx, next);
    const known = authenticator.recall(token);
    return known === undefined ? authenticate(token, ctx, next) : answer(known, ctx, next);
  }

  return Object.assign(guard, { forget: (match?: TokenMatch) => authenticator.forget(match) });
}

// Both are always set: a host's own middleware may have put its logged-in user there.
function admit(state: { user: unknown; client: unknown; principal: unknown }, principal: Principal): void {
  state.user = principal.user;
  state.client = principal.type === 'client' ? principal.client : undefined;
  state.principal = principal;
}
