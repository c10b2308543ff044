import type { Middleware, ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { Router, RouterEvents } from 'koa-router';

import type { GuardedState, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { refusalProblem } from '../http/admission.ts';
import type { Admission } from '../http/admission.ts';
import { problems, sendProblem } from '../http/problem.ts';
import { indexActions } from './actions/action-index.ts';
import type { Action } from './actions/define-action.ts';
import { describeAction, listActions } from './actions/discover.ts';
import { executeOnCollection, executeOnInstance } from './actions/execute.ts';
import { withAction } from './actions/with-action.ts';
import type { ApiAuth } from './auth.ts';
import { runBulk } from './bulk/bulk.ts';
import { createAnswerOnce } from './idempotency/answer-once.ts';
import { identity } from './identity.ts';
import { checkLimits } from './limits.ts';
import type { BulkLimits } from './limits.ts';
import { describeApi } from './openapi/document.ts';
import type { OpenApiOptions } from './openapi/document.ts';
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

/** Lets in what the server lets in, and answers the rest with a problem. Without a server that counts, all is let in. */
function admitted(admission: Pick<Admission, 'admit'> | undefined): Middleware {
  return async function admit(ctx, next) {
    if (!admission) return next();
    return admission.admit(ctx, next, (refusal) => sendProblem(ctx, refusalProblem(refusal)));
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
function answerUnrouted<State>(router: Router<State>, entrance: Middleware<State>, prefix: string): void {
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

/** Adds a `GET` route that strangers may use. Nothing but the route itself runs then, whatever else matches the path. */
export type AddOpenRoute = (path: string, handler: Middleware) => void;

/**
 * Puts the entrance in front of every route of a router, at the point where the router has decided which to run. Routes
 * that are added by the function that comes back are the only ones without it.
 *
 * `router.use(guard)` would not do: koa-router matches it against the path by itself, and case-sensitively. It would
 * not run for routes that are regular expressions, nor for `/API/v1/schools` of a nested router, while the route would.
 */
function guardEveryRoute<State>(router: Router<State>, entrance: Middleware<State>): AddOpenRoute {
  const { stack: entranceLayers } = new Router<State>().use(entrance);
  const openLayers = new Set<Router<State>['stack'][number]>();
  const match = router.match.bind(router);
  router.match = (path, method) => {
    const matched = match(path, method);
    const open = matched.pathAndMethod.find((layer) => openLayers.has(layer));
    if (open) matched.pathAndMethod = [open];
    else if (matched.route) matched.pathAndMethod.unshift(...entranceLayers);
    return matched;
  };

  // A router that is used inside another one is taken apart: its routes would be copied, its match() would not.
  const middleware = router.middleware.bind(router);
  router.middleware = () =>
    Object.defineProperty(middleware(), 'router', {
      get() {
        throw new ConfigError(
          'createApiRouter',
          'mount its routes() on the app, not in another router, where the guard would not run; to move it, set the option prefix',
        );
      },
    });

  return function addOpenRoute(path, handler) {
    router.get(path, handler);
    openLayers.add(router.stack.at(-1)!);
  };
}
