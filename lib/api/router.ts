import type { Middleware } from 'koa';
import { Router } from 'koa-router';

import { reauthenticatorOf } from '../access/guard.ts';
import type { GuardMiddleware } from '../access/guard.ts';
import type { Gate, GuardedState, ObjectsOf, PermissionOf, User } from '../contracts/index.ts';
import { beginStackAt } from '../errors.ts';
import { partsOf } from '../contracts/server-parts.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { admitRequests } from '../limits/concurrency-limit.ts';
import { createAllowOrigins } from '../http/cors.ts';
import { problems, sendProblem } from '../http/problem.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import type { Check, Given } from '../options/declare.ts';
import { boolean, origins } from '../options/values.ts';
import { actionList, describeAction, indexActions, listActions, withAction } from './actions/action-index.ts';
import type { ReauthenticatorOf } from './actions/answer.ts';
import type { Action } from './actions/define-action.ts';
import { createPerformAction, createReceiveBody, executeAction } from './actions/perform-action.ts';
import { runBulk } from './bulk/bulk.ts';
import { createAnswerOnce } from './answer-once.ts';
import { GuardedRouter } from './guarded-router.ts';
import { identity } from './identity.ts';
import { LIMITS, limitsOfRoute, requestLimits } from './limits.ts';
import type { RouteLimits } from './limits.ts';
import { openapi } from './openapi/options.ts';
import { serveDescription } from './openapi/serve-description.ts';
import { baseUrlOf, checkPath, pathOf } from './paths.ts';
import { createRequestLimits } from './request-limits.ts';
import { createBodyParsers, METHODS_WITH_BODY } from './route-bodies.ts';
import type { RouteBody } from './route-bodies.ts';

/** The public members of an `AuthServer` that the API uses. */
export interface ApiAuth<
  P extends string = string,
  U extends User = User,
  S extends object = object,
  A extends string = string,
> {
  /** The server's identity and base URL, on which the URLs in the API's description are based. */
  readonly issuer: string;
  readonly gate: Pick<Gate<P>, 'can' | 'has' | 'hasRule' | 'permissions'>;
  /** Returns the middleware that authenticates requests by their access token, and with `session` by a login session. */
  guard(options?: { readonly resource?: A; readonly session?: boolean }): GuardMiddleware<P, U, S>;
  /** @internal What the API, the tools for agents and the metrics are made on. */
  readonly parts: ServerParts;
}

const originsOrAll: Check<readonly string[] | '*'> = (place, given) =>
  given === '*' ? '*' : origins(place, given);

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- they are in the type of the result
function apiRouterOptions<P extends string, U extends User, S extends object, A extends string>() {
  return {
    /** The server that `createAuthServer()` returned. */
    auth: unchecked<ApiAuth<P, U, S, A>>,
    /**
     * The API as the option `resources` of the server names it: tokens for it are accepted, and no others.
     * @default the issuer, to which requests without `resource` apply
     */
    resource: optional(unchecked<NoInfer<A>>),
    /**
     * Whether the platform's own pages, which send no token, are accepted by the login session of their user: see
     * `auth.guard()`.
     * @default false
     */
    session: optional(boolean, false),
    /**
     * The origins of web pages that may call the API with a token of theirs (CORS), such as `['https://app.example']`; `'*'`: all.
     * @default none but those of the server
     */
    origins: optional(originsOrAll),
    /** The path of the API, without parameters. @default that of `resource`, else `/api/v1` below the server's mount path */
    prefix: optional(unchecked<string>),
    /** The actions of the API: `[defineAction({ ... }), ...]`. @default [] */
    actions: optional(actionList<NoInfer<P>>, []),
    ...LIMITS,
    /**
     * How many requests a user and a client may send, and how often they may run an action: `{ user: { requests: 600, window:
     * '1 minute' } }`. They are counted on all nodes together, in the storage. Over a limit, the response is 429 with `Retry-After`.
     * @default none
     */
    limits: optional(requestLimits, {}),
    /**
     * Whether JSON, form and multipart bodies of the routes that you add are parsed into `ctx.request.body` and
     * `ctx.request.files`. `false`: the routes read `ctx.req`, or use {@link ApiRouter.parseBody} or a parser of their own. A body
     * that was parsed in front of the API is not changed.
     * @default true
     */
    parseBodies: optional(boolean, true),
    /**
     * The description of the API at `/openapi.json` and, as a page, at `/docs`: Swagger UI where the host has installed
     * `swagger-ui-dist`, else a list of the operations. `false`: none.
     */
    openapi: optional(openapi, {}),
  };
}

/** What `createApiRouter()` takes. */
export interface ApiRouterOptions<
  P extends string = string,
  U extends User = User,
  S extends object = object,
  A extends string = string,
> extends Given<ReturnType<typeof apiRouterOptions<P, U, S, A>>> {}

/**
 * A koa-router whose handlers find the user or client of the request in `ctx.state.user` or `ctx.state.client` and in
 * `ctx.state.principal`, and its parsed body in `ctx.request.body` and `ctx.request.files`.
 */
export interface ApiRouter<G extends Gate = Gate, U extends User = User> extends Router<
  GuardedState<PermissionOf<G>, U, ObjectsOf<G>>,
  RouteBody
> {
  /**
   * Returns a middleware that parses the body of one route, with limits of its own:
   *
   *     api.put('/film', auth.requires('edit_films'), api.parseBody({ uploads: { maxBodyBytes: 2 ** 25 } }), saveFilm);
   *
   * It parses the body in its place in the route, here after the permission was checked. The body of a route that has it is
   * parsed by nothing else. Limits that are left out are those of the API.
   *
   * @throws ConfigError for a limit that is not a whole number of at least 1
   */
  parseBody(limits?: RouteLimits): Middleware;
}

/**
 * Creates the router of the API: `GET /identity`, the actions, their description, and the routes that you add.
 *
 *     const api = createApiRouter({ auth, actions: [renameSchool] });
 *     api.get('/schools', auth.requires('view_schools'), listSchools);
 *     app.use(api.routes());
 *
 * Whatever is below the prefix requires a valid access token: each route, whatever its method and the order of routes, middleware of
 * the app behind this router, and what nobody answers, which is 404, or 405 with `Allow`. Only the description can be public. Mount
 * in front of this router what has another login. Errors that are thrown become problems (RFC 9457). Paths are case-sensitive. The
 * preflights of pages of `origins`, which have no token, are answered.
 *
 * The routes of the API itself come before yours. The path of a route is a string, such as `/schools/:id`: with a regular expression,
 * `routes()` throws a ConfigError. Calling `prefix()` and mounting `routes()` in another router throw one too: use the option
 * `prefix`.
 *
 * @throws ConfigError when `auth` was not returned by `createAuthServer()`, the prefix is not a plain path, or an action or
 * another option is invalid
 */
export function createApiRouter<
  P extends string,
  U extends User,
  S extends object = object,
  A extends string = string,
>(options: ApiRouterOptions<P, U, S, A>): ApiRouter<Gate<P, string, S>, U> {
  const given = readOptions(apiRouterOptions<P, U, S, A>(), options);
  const { auth, maxBodyBytes, bulk, session } = given;
  const {
    apis,
    concurrencyLimit,
    clientKinds,
    limitCallers,
    logger,
    mountPath,
    observers,
    pages,
    resources,
    sessionCookie,
    storage,
  } = partsOf(auth);
  const { gate, issuer } = auth;
  const guard = auth.guard({ session, ...(given.resource !== undefined && { resource: given.resource }) });
  const resource: string = given.resource ?? issuer;
  const { prefix = resource === issuer ? `${mountPath}/api/v1` : pathOf(resource, { issuer, mountPath }) } =
    given;
  checkPath('prefix', prefix, '/api/v1');
  const actions = indexActions(given.actions, auth);
  const limiter = createRequestLimits(given.limits, { actions: actions.all, limitCallers });
  const { countRequest, countRuns, isLimited, mostRuns } = limiter;
  const maximum = (action: Action): number => Math.min(bulk.maxItems, mostRuns(action));
  const { scopes } = resources.get(resource)!;
  const baseUrl =
    resource === issuer || given.prefix !== undefined ? baseUrlOf({ issuer, mountPath }, prefix) : resource;
  if (!apis.has(resource)) apis.set(resource, baseUrl);
  const answerOnce = createAnswerOnce(storage.idempotency, logger);
  const perform = createPerformAction(answerOnce, logger);
  const reauthenticator = reauthenticatorOf(guard) as ReauthenticatorOf;

  const own = new Router<GuardedState<P, U, S>, RouteBody>({ prefix, sensitive: true });
  own.get('/identity', identity);
  own.get(['/actions', '/actions/:type'], listActions(actions, baseUrl));
  own.get('/actions/:type/:action', withAction(actions, describeAction(baseUrl), observers));
  // The names of actions end in `-action`, so `bulk` in the next path is never one of them.
  own.post(
    '/actions/:type/:action/bulk',
    withAction(
      actions,
      runBulk({
        storage,
        logger,
        answerOnce,
        concurrency: bulk.concurrency,
        concurrencyLimit,
        countRuns,
        maximum,
        receive: createReceiveBody(bulk.maxBodyBytes, reauthenticator),
        streamTimeout: bulk.streamTimeout,
      }),
      observers,
    ),
  );
  own.post(
    ['/actions/:type/:action', '/actions/:type/:id/:action'],
    withAction(
      actions,
      executeAction({ perform, countRuns, receive: createReceiveBody(maxBodyBytes, reauthenticator) }),
      observers,
    ),
  );
  own.get(OBJECT_PATHS, notImplemented);
  const publicPages = new Map<string, Middleware>();
  if (given.openapi) {
    const described = {
      actions: actions.all,
      gate,
      issuer,
      resource,
      baseUrl,
      scopes,
      maximum,
      clientKinds,
      pages,
      isLimited,
      sessionCookie: session ? sessionCookie : undefined,
    };
    for (const [path, { handler, isPublic }] of Object.entries(serveDescription(described, given.openapi))) {
      // Of public ones too, for the methods of their paths.
      own.get(path, handler);
      if (isPublic) publicPages.set(prefix + path, handler).set(`${prefix + path}/`, handler);
    }
  }
  const parsers = createBodyParsers({ logger, reauthenticatorOf: reauthenticator });
  const parse = given.parseBodies ? parsers.createForRoutes(given) : undefined;
  const { origins: allowed } = given;
  const router = new GuardedRouter<GuardedState<P, U, S>>(prefix, {
    allowOrigins:
      allowed &&
      createAllowOrigins(allowed === '*' ? '*' : new Set(allowed), 'GET, HEAD, POST, PUT, PATCH, DELETE'),
    admit: admitRequests(concurrencyLimit),
    answerErrors: problems({ logger }),
    guard,
    countRequest,
    own,
    publicPages,
    completeRoute(route) {
      if (parse && METHODS_WITH_BODY.some((method) => route.methods.includes(method))) {
        parsers.load();
        route.stack = [parse, ...route.stack];
      }
    },
  });
  const api = Object.assign(router, {
    parseBody(limits: RouteLimits = {}) {
      parsers.load();
      return parsers.create(limitsOfRoute(limits, given));
    },
  });
  // The type of the objects is that of the gate, which TypeScript reads from a gate that it knows only.
  return api as unknown as ApiRouter<Gate<P, string, S>, U>;
}
beginStackAt(createApiRouter);

/** The planned paths of the Objects API, all of them `GET`. */
const OBJECT_PATHS: string[] = [
  '/objects/:type',
  '/objects/:type/schema',
  '/objects/:type/actions',
  '/objects/:type/:id',
];

/** Answers 501 for the Objects API, because a 404 could be read as "no such object". */
const notImplemented: Middleware<GuardedState> = (ctx) => {
  sendProblem(ctx, {
    status: 501,
    code: 'not_implemented',
    detail: 'The Objects API is planned and not available yet.',
  });
};
