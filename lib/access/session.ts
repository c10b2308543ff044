import type { Context } from 'koa';

import type { ChallengedApi, Gate, Principal, User } from '../contracts/index.ts';
import type { Problem } from '../http/problem.ts';
import { unauthorized } from './challenge.ts';
import type { AuthFailure } from './challenge.ts';
import { effectivePermissions, makePrincipal } from './principal.ts';
import type { UserAssignments } from './principal.ts';

/**
 * Finds the login session of the request's browser, at the host or here; `undefined` when nobody is logged in. `user` is what the user
 * store returns now; it is `undefined` when the store does not find the user.
 */
export type FindSessionUser = (ctx: Context) => Promise<{ readonly user: User | undefined } | undefined>;

/** What `createAuthenticateSession()` takes. */
export interface AuthenticateSessionOptions<P extends string = string, U extends User = User> {
  readonly api: ChallengedApi;
  readonly gate: Pick<Gate<P>, 'effectivePermissions' | 'can'>;
  readonly findSessionUser: FindSessionUser;
  readonly userAssignments: Pick<UserAssignments<U>, 'of'>;
}

/** Authenticates a request without a token. Resolves to the problem to answer with when it may not use a session or has none. */
export type AuthenticateSession<P extends string = string, U extends User = User> = (
  ctx: Context,
) => Promise<Principal<P, U> | Problem>;

/**
 * Authenticates requests of pages of the API's own origin by the login session of the browser. Nothing is cached: the end of a session on
 * any node, and the loss of a permission, take effect with the next request.
 *
 * Browsers send cookies with the requests of every page. So each request, whatever its method, must say that a page of the same origin
 * made it. Pages can set neither `Sec-Fetch-Site` nor `Origin`.
 */
export function createAuthenticateSession<P extends string, U extends User>({
  api,
  findSessionUser,
  gate,
  userAssignments,
}: AuthenticateSessionOptions<P, U>): AuthenticateSession<P, U> {
  const { origin } = new URL(api.resource);

  return async function authenticateSession(ctx) {
    const initiator = initiatorOf(ctx, origin);
    if (initiator !== 'own page') {
      // A request without cookies comes from a program, which needs the challenge to find out how to get a token.
      if (ctx.headers.cookie === undefined) return unauthorized(api, LOGIN_REQUIRED);
      return initiator === 'unknown' ? ORIGIN_UNKNOWN : originNotAllowed(origin);
    }
    const session = await findSessionUser(ctx);
    if (!session) return unauthorized(api, LOGIN_REQUIRED);
    if (!session.user) return unauthorized(api, USER_GONE);
    // The user store of this server has found the user, so it has the server's type of users.
    const user = session.user as U;
    return makePrincipal<P, U, { type: 'user'; user: U; client: undefined; credential: 'session' }>(
      { type: 'user', user, client: undefined, credential: 'session' },
      effectivePermissions(await userAssignments.of(user), gate),
      { gate },
    );
  };
}

/**
 * Which page made a request, according to its browser (Fetch Metadata; RFC 6454). A sibling subdomain is `same-site`, a navigation from
 * the address bar `none`. Browsers send `Origin` with each request whose method is not GET or HEAD, and `null` for a sandboxed frame.
 */
function initiatorOf({ headers, method }: Context, origin: string): 'own page' | 'other' | 'unknown' {
  const { 'sec-fetch-site': site, origin: sender } = headers;
  if (sender !== undefined && sender !== origin) return 'other';
  if (site !== undefined && site !== 'same-origin') return 'other';
  const isKnown = site !== undefined && (sender !== undefined || method === 'GET' || method === 'HEAD');
  return isKnown ? 'own page' : 'unknown';
}

const LOGIN_REQUIRED: AuthFailure = {
  code: 'login_required',
  detail:
    'Log in to this site, whose own pages need no token. Other callers need an access token in the header field Authorization: Bearer.',
};

const USER_GONE: AuthFailure = {
  code: 'session_user_gone',
  detail: 'The user who is logged in was removed or disabled.',
};

const ORIGIN_UNKNOWN: Problem = {
  status: 403,
  code: 'origin_unknown',
  detail:
    'The request has a cookie, but does not say which page made it: browsers do with Sec-Fetch-Site, and with Origin unless the method is GET. Send an access token in the header field Authorization: Bearer instead.',
};

function originNotAllowed(origin: string): Problem {
  return {
    status: 403,
    code: 'origin_not_allowed',
    detail: `Without an access token, only pages of ${origin} may send requests here.`,
  };
}
