import type { Context } from 'koa';

import { toMilliseconds } from '../contracts/duration.ts';
import type { ChallengedApi, Milliseconds, Principal, Seconds, User } from '../contracts/index.ts';
import type { Problem } from '../http/problem.ts';
import type { Authenticator } from './authenticator.ts';
import { unauthorized } from './challenge.ts';
import type { AuthenticateSession } from './session.ts';

/**
 * Authenticates once more a request that the guard has admitted. It returns the current principal or, when the token, user, client or
 * session of the request has ended, the problem to answer with. A result is never older than `tokens.revocationLag`; within that time, no
 * call needs a read. Once ended, the request stays ended.
 *
 * @throws what the storage or the host's user store throws
 */
export type Reauthenticate<P extends string = string, U extends User = User> = () =>
  | Principal<P, U>
  | Problem
  | Promise<Principal<P, U> | Problem>;

/** What `createReauthentication()` takes. */
export interface ReauthenticationOptions<P extends string = string, U extends User = User> {
  readonly api: ChallengedApi;
  readonly authenticator: Pick<Authenticator<P, U>, 'authenticate' | 'findCached'>;
  readonly now: () => Milliseconds;
  /** Called once for a request whose token, user, client or session has ended. */
  readonly onEnd: (problem: Problem) => void;
  readonly revocationLag: Seconds;
}

/** Creates the functions that authenticate one request again. */
export interface Reauthentication<P extends string = string, U extends User = User> {
  ofToken(token: string): Reauthenticate<P, U>;
  /** @param principal - as `authenticateSession` has just returned it */
  ofSession(
    ctx: Context,
    principal: Principal<P, U>,
    authenticateSession: AuthenticateSession<P, U>,
  ): Reauthenticate<P, U>;
}

/**
 * Sets the current principal of a request on `ctx.state`. Resolves to the problem to answer with when the request's token, user, client
 * or session has ended.
 */
export async function readmit(
  ctx: { readonly state: object },
  reauthenticate: Reauthenticate,
): Promise<Problem | undefined> {
  const result = await reauthenticate();
  if ('status' in result) return result;
  setPrincipal(ctx.state, result);
  return undefined;
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

export function createReauthentication<P extends string, U extends User>({
  api,
  authenticator,
  now,
  onEnd,
  revocationLag,
}: ReauthenticationOptions<P, U>): Reauthentication<P, U> {
  const lag = toMilliseconds(revocationLag);

  function untilEnd(
    current: () => Principal<P, U> | undefined,
    load: () => Promise<Principal<P, U> | Problem>,
  ): Reauthenticate<P, U> {
    let ended: Problem | undefined;
    async function reload(): Promise<Principal<P, U> | Problem> {
      const result = await load();
      if (!ended && 'status' in result) {
        ended = result;
        onEnd(ended);
      }
      return ended ?? result;
    }
    return () => ended ?? current() ?? reload();
  }

  return {
    ofToken: (token) =>
      untilEnd(
        () => authenticator.findCached(token)?.principal,
        async () => {
          const result = await authenticator.authenticate(token);
          return 'principal' in result ? result.principal : unauthorized(api, result);
        },
      ),
    ofSession(ctx, principal, authenticateSession) {
      let known = { principal, readAt: now() };
      return untilEnd(
        () => {
          const age = now() - known.readAt;
          return age >= 0 && age < lag ? known.principal : undefined;
        },
        async () => {
          const readAt = now();
          const result = await authenticateSession(ctx);
          if (!('status' in result)) known = { principal: result, readAt };
          return result;
        },
      );
    },
  };
}
