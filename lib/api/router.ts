import type { Middleware, ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { Router, RouterEvents } from 'koa-router';

import type { GuardedState, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { overloadProblem } from '../http/concurrency-limit.ts';
import type { ConcurrencyLimit } from '../http/concurrency-limit.ts';
import { problems, sendProblem } from '../http/problem.ts';
import { serverPartsOf } from '../http/server-parts.ts';
import { describeAction, indexActions, listActions, withAction } from './actions/action-index.ts';
import type { Action } from './actions/define-action.ts';
import { executeOnCollection, executeOnInstance } from './actions/execute.ts';
import type { ApiAuth } from './auth.ts';
import { runBulk } from './bulk/bulk.ts';
import { createAnswerOnce } from './idempotency/answer-once.ts';
import { identity } from './identity.ts';
import { checkLimits } from './limits.ts';
import type { BulkLimits, UploadLimits } from './limits.ts';
import type { OpenApiOptions } from './openapi/document.ts';
import { guardEveryRoute, parseBodiesOfHost } from './matched-routes.ts';
import { createRouteBodies } from './route-bodies.ts';
import type { RouteBody } from './route-bodies.ts';
import { serveDescription } from './openapi/serve-description.ts';

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
  /** The largest body of an action, and the largest JSON body or form of a route of yours, in bytes. @default 65536 */
  readonly bodyLimit?: number;
  /** How much may be asked for in one bulk. */
  readonly bulk?: BulkLimits;
  /** How much a multipart body may hold that is sent to a route of yours. */
  readonly uploads?: UploadLimits;
  /**
   * Whether JSON, forms and multipart bodies that are sent to the routes that you add are parsed, into `ctx.request.body` and
   * `ctx.request.files`. `false`: the routes read `ctx.req`, or bring a parser. What a parser in front of the API has read is
   * left as it is. @default true
   */
  readonly parseBodies?: boolean;
  /** What the API says about itself at `/openapi.json` and, for people, at `/docs`. `false`: nothing. */
  readonly openapi?: OpenApiOptions | false;
}

/**
 * A koa-router whose handlers know who calls, `ctx.state.user` or `ctx.state.client` and `ctx.state.principal`, and find what was
 * sent in `ctx.request.body` and `ctx.request.files`.
 */
export type ApiRouter<P extends string = string, U extends User = User, S extends object = object> = Router<
  GuardedState<P, U, S>,
  RouteBody
>;

/**
 * Makes the router of the API: `GET /identity`, the actions, their description, and whatever routes you add.
 *
 *     const api = createApiRouter({ auth, actions: [renameSchool] });
 *     api.get('/schools', auth.requires('view_schools'), listSchools);
 *     app.use(api.routes());
 *
 * No route runs without a good access token, whatever its method, its path or the order of registration; only a description
 * that is `public` may be read without one. What is thrown becomes a problem (RFC 9457). Paths are case-sensitive. A path
 * below the prefix that neither this router nor middleware behind it answers is 404, or 405 with `Allow`, also for good
 * tokens only. Middleware that answers CORS preflights goes in front: they carry no token.
 *
 * @throws ConfigError when `auth` is not a server of `createAuthServer()`, the prefix is not a plain path, or an action or
 * another option is wrong
 */
export function createApiRouter<P extends string, U extends User, S extends object = object>(
  options: ApiRouterOptions<P, U, S>,
): ApiRouter<P, U, S> {
  const { auth, openapi = {}, parseBodies = true } = options;
  const { concurrencyLimit, logger, mountPath, storage } = serverPartsOf(auth);
  const { prefix = `${mountPath}/api/v1` } = options;
  checkPrefix(prefix);
  const limits = checkLimits(options);
  const { bodyLimit, bulk } = limits;
  const actions = indexActions(options.actions ?? [], auth);
  const { gate, issuer, scopes } = auth;
  const baseUrl = baseUrlOf({ issuer, mountPath }, prefix);
  const answerOnce = createAnswerOnce({ store: storage.idempotency, logger });
  const execute = { logger, answerOnce, bodyLimit };

  const router: ApiRouter<P, U, S> = new Router({ prefix, sensitive: true });
  const entrance = compose<ParameterizedContext<GuardedState<P, U, S>>>([
    limitConcurrency(concurrencyLimit),
    problems({ logger }),
    auth.guard(),
  ]);
  const addOpenRoute = guardEveryRoute(router, entrance);
  answerUnrouted(router, entrance, prefix);
  router.get('/identity', identity);
  router.get('/actions', listActions(actions, baseUrl));
  router.get('/actions/:type', listActions(actions, baseUrl));
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
    for (const [path, handler] of Object.entries(serveDescription(described, openapi))) {
      if (openapi.access === 'public') addOpenRoute(path, handler);
      else router.get(path, handler);
    }
  }
  if (parseBodies) parseBodiesOfHost(router, createRouteBodies(limits, logger));
  return router;
}

/** Where the API is for the world: what a proxy removes from the path of a request is in front of it again. */
function baseUrlOf(
  { issuer, mountPath }: { readonly issuer: string; readonly mountPath: string },
  prefix: string,
): string {
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

/** Counts requests among those of the server, and refuses one that is too many. */
function limitConcurrency(limit: Pick<ConcurrencyLimit, 'run'>): Middleware {
  return async function run(ctx, next) {
    return limit.run(ctx, next, (overload) => sendProblem(ctx, overloadProblem(overload)));
  };
}

/** The paths that are planned for the Objects API (spec section 4.6). All are `GET`. */
const OBJECT_PATHS: string[] = [
  '/objects/:type',
  '/objects/:type/schema',
  '/objects/:type/actions',
  '/objects/:type/:id',
];

/** Says that the Objects API is not there yet, so that nobody takes a 404 for "no such object". */
const notImplemented: Middleware<GuardedState> = (ctx) => {
  sendProblem(ctx, {
    status: 501,
    code: 'not_implemented',
    detail: 'The Objects API is planned and not available yet.',
  });
};

/**
 * Answers what is left below the prefix when no route matched and nothing behind the router answered either: 404, or
 * 405 and the methods there are (RFC 9110 section 15.5.6). Behind the entrance, so that strangers cannot map the API.
 */
function answerUnrouted<State>(
  router: Router<State, RouteBody>,
  entrance: Middleware<State>,
  prefix: string,
): void {
  router.on(RouterEvents.NotFound, async (ctx, next) => {
    await next();
    const isBelow = ctx.path === prefix || ctx.path.startsWith(`${prefix}/`);
    const isAnswered = ctx.respond === false || ctx.headerSent || ctx.status !== 404 || ctx.body != null;
    if (!isBelow || isAnswered) return;
    await entrance(ctx, async () => {
      const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods))];
      if (methods.length === 0) {
        sendProblem(ctx, { status: 404, code: 'not_found', detail: 'The API has no route with this path.' });
        return;
      }
      const headers = { Allow: [...methods, 'OPTIONS'].join(', ') };
      if (ctx.method === 'OPTIONS') {
        ctx.status = 204;
        ctx.set(headers);
        return;
      }
      sendProblem(ctx, {
        status: 405,
        code: 'method_not_allowed',
        detail: `This path takes ${methods.join(', ')}.`,
        headers,
      });
    });
  });
}
