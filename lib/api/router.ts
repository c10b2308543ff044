import type { ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { Router } from 'koa-router';

import type { GuardedState, User } from '../contracts.ts';
import { ConfigError } from '../errors.ts';
import { problems } from '../http/problem.ts';
import type { ApiAuth } from './auth.ts';
import { guardEveryRoute } from './guard-every-route.ts';
import { identity } from './identity.ts';
import { OBJECT_PATHS, notImplemented } from './objects.ts';
import { answerUnrouted } from './unrouted.ts';

/** What `createApiRouter()` takes. */
export interface ApiRouterOptions<P extends string = string, U extends User = User> {
  readonly auth: ApiAuth<P, U>;
  /** Where the API is: a path without parameters. @default `/api/v1` below the server's mount path */
  readonly prefix?: string;
}

/** A koa-router whose handlers know who calls: `ctx.state.user` or `ctx.state.client`, and `ctx.state.principal`. */
export type ApiRouter<P extends string = string, U extends User = User> = Router<GuardedState<P, U>>;

/**
 * Makes the router of the API: `GET /identity`, and whatever routes you add.
 *
 *     const api = createApiRouter({ auth });
 *     api.get('/schools', auth.requires('view_schools'), listSchools);
 *     app.use(api.routes());
 *
 * No route runs without a good access token, whatever its method, its path or the order of registration. What is thrown
 * becomes a problem (RFC 9457). Paths are case-sensitive. A path below the prefix that neither this router nor
 * middleware behind it answers is 404, or 405 with `Allow`, also for good tokens only. Middleware that answers CORS
 * preflights goes in front: they carry no token.
 *
 * @throws ConfigError when the prefix is not a plain path
 */
export function createApiRouter<P extends string, U extends User>(
  options: ApiRouterOptions<P, U>,
): ApiRouter<P, U> {
  const { auth, prefix = `${auth.mountPath}/api/v1` } = options;
  checkPrefix(prefix);
  const router: ApiRouter<P, U> = new Router({ prefix, sensitive: true });
  const entrance = compose<ParameterizedContext<GuardedState<P, U>>>([problems(auth), auth.guard()]);
  guardEveryRoute(router, entrance);
  answerUnrouted(router, entrance, prefix);
  router.get('/identity', identity);
  router.get(OBJECT_PATHS, notImplemented);
  return router;
}

// The router would read some of the other characters as parameters or wildcards.
const PLAIN_PATH = /^(\/[\w.~%@-]+)+$/;

function checkPrefix(prefix: string): void {
  if (!PLAIN_PATH.test(prefix)) {
    throw new ConfigError('prefix', "give a path with a leading and no trailing slash, such as '/api/v1'");
  }
}
