import type { ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { Router } from 'koa-router';

import type { GuardedState, User } from '../contracts.ts';
import { ConfigError } from '../errors.ts';
import { problems } from '../http/problem.ts';
import { indexActions } from './actions/action-index.ts';
import type { Action } from './actions/define-action.ts';
import { describeAction, listActions } from './actions/discover.ts';
import { executeOnCollection, executeOnInstance } from './actions/execute.ts';
import { withAction } from './actions/with-action.ts';
import { admitted } from './admitted.ts';
import type { ApiAuth } from './auth.ts';
import { runBulk } from './bulk/bulk.ts';
import { guardEveryRoute } from './guard-every-route.ts';
import { createAnswerOnce } from './idempotency/answer-once.ts';
import { identity } from './identity.ts';
import { checkLimits } from './limits.ts';
import type { BulkLimits } from './limits.ts';
import { OBJECT_PATHS, notImplemented } from './objects.ts';
import { describeApi } from './openapi/document.ts';
import type { OpenApiOptions } from './openapi/document.ts';
import { serveDescription } from './openapi/serve-description.ts';
import { answerUnrouted } from './unrouted.ts';

/** What `createApiRouter()` takes. */
export interface ApiRouterOptions<
  P extends string = string,
  U extends User = User,
  S extends object = object,
> {
  /** The server that `createAuthServer()` made. */
  readonly auth: ApiAuth<P, U, S>;
  /** Where the API is: a path without parameters. @default `/api/v1` below the server's mount path */
  readonly prefix?: string;
  /** What callers can do: `[defineAction({ ... }), ...]`. @default [] */
  readonly actions?: readonly Action<NoInfer<P>>[];
  /** The largest body of an action, in bytes. @default 65536 */
  readonly bodyLimit?: number;
  /** How much may be asked for in one bulk. */
  readonly bulk?: BulkLimits;
  /** What the API says about itself at `/openapi.json` and, for people, at `/docs`. `false`: nothing. */
  readonly openapi?: OpenApiOptions | false;
}

/** A koa-router whose handlers know who calls: `ctx.state.user` or `ctx.state.client`, and `ctx.state.principal`. */
export type ApiRouter<P extends string = string, U extends User = User, S extends object = object> = Router<
  GuardedState<P, U, S>
>;

/**
 * Makes the router of the API: `GET /identity`, the actions, their description, and whatever routes you add.
 *
 *     const api = createApiRouter({ auth, actions: [renameSchool] });
 *     api.get('/schools', auth.requires('view_schools'), listSchools);
 *     app.use(api.routes());
 *
 * No route runs without a good access token, whatever its method, its path or the order of registration; only the
 * description may be read without one. What is thrown becomes a problem (RFC 9457). Paths are case-sensitive. A path
 * below the prefix that neither this router nor middleware behind it answers is 404, or 405 with `Allow`, also for good
 * tokens only. Middleware that answers CORS preflights goes in front: they carry no token.
 *
 * @throws ConfigError when the prefix is not a plain path, or an action or another option is wrong
 */
export function createApiRouter<P extends string, U extends User, S extends object = object>(
  options: ApiRouterOptions<P, U, S>,
): ApiRouter<P, U, S> {
  const { auth, prefix = `${auth.mountPath}/api/v1`, openapi = {} } = options;
  checkPrefix(prefix);
  const { bodyLimit, bulk } = checkLimits(options);
  const actions = indexActions(options.actions ?? [], auth);
  const { gate, issuer, logger, scopes, storage } = auth;
  const baseUrl = baseUrlOf(auth, prefix);
  const answerOnce = createAnswerOnce({ store: storage.idempotency, logger });
  const execute = { logger, answerOnce, bodyLimit };

  const router: ApiRouter<P, U, S> = new Router({ prefix, sensitive: true });
  const entrance = compose<ParameterizedContext<GuardedState<P, U, S>>>([
    admitted(auth.admission),
    problems(auth),
    auth.guard(),
  ]);
  const addOpenRoute = guardEveryRoute(router, entrance);
  answerUnrouted(router, entrance, prefix);
  router.get('/identity', identity);
  router.get('/actions', listActions(actions, baseUrl));
  router.get('/actions/:type/:action', withAction(actions, describeAction(baseUrl)));
  router.post('/actions/:type/:action', withAction(actions, executeOnCollection(execute)));
  // No action is called bulk, so the next path is never one of these.
  router.post(
    '/actions/:type/:action/bulk',
    withAction(actions, runBulk({ storage, logger, answerOnce, ...bulk })),
  );
  router.post('/actions/:type/:id/:action', withAction(actions, executeOnInstance(execute)));
  router.get(OBJECT_PATHS, notImplemented);
  if (openapi !== false) {
    const described = { actions: actions.all, gate, issuer, baseUrl, scopes, maximum: bulk.maximum };
    const document = describeApi(described, openapi);
    for (const [path, handler] of Object.entries(serveDescription(document, { issuer, baseUrl }))) {
      if (openapi.access === 'guarded') router.get(path, handler);
      else addOpenRoute(path, handler);
    }
  }
  return router;
}

/** Where the API is for the world: what a proxy removes from the path of a request is in front of it again. */
function baseUrlOf({ issuer, mountPath }: Pick<ApiAuth, 'issuer' | 'mountPath'>, prefix: string): string {
  return prefix.startsWith(`${mountPath}/`)
    ? issuer + prefix.slice(mountPath.length)
    : new URL(issuer).origin + prefix;
}

// The router would read some of the other characters as parameters or wildcards.
const PLAIN_PATH = /^(\/[\w.~%@-]+)+$/;

function checkPrefix(prefix: string): void {
  if (!PLAIN_PATH.test(prefix)) {
    throw new ConfigError('prefix', "give a path with a leading and no trailing slash, such as '/api/v1'");
  }
}
