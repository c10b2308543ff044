import type { Context, Middleware, Next } from 'koa';
import { Router, RouterEvents } from 'koa-router';
import type { RouterOptions } from 'koa-router';

import { ConfigError } from '../errors.ts';
import { sendProblem } from '../http/problem.ts';
import { serveOnly } from '../http/served-paths.ts';
import type { RouteBody } from './route-bodies.ts';

// Of the two constructors that the package declares, a class can extend only one.
const BaseRouter: new <State, Context>(options?: RouterOptions) => Router<State, Context> = Router;

type Routes<State> = ReturnType<Router<State, RouteBody>['middleware']>;
type Layer<State> = Router<State, RouteBody>['stack'][number];

/** What answers requests below the prefix besides the routes of the host, and what comes before all of them. */
export interface GuardedRouterParts<State> {
  /** Comes before everything, also before public pages and what no route answers. */
  readonly allowOrigins: Middleware | undefined;
  readonly admit: Middleware;
  readonly answerErrors: Middleware;
  readonly guard: Middleware<State>;
  readonly countRequest: Middleware<State> | undefined;
  /** The routes of the API itself, which come before those of the host. The first segments of their paths have no parameter. */
  readonly own: Router<State, RouteBody>;
  /** Answer the paths that need no token. No handler of the host runs for them. */
  readonly publicPages: ReadonlyMap<string, Middleware>;
  /** Is called with each route of the host before it answers a request. */
  readonly completeRoute: (route: Layer<State>) => void;
}

/**
 * A koa-router for the routes of the host, with a guard in front of its prefix: whatever is below it runs for requests that the guard
 * has admitted, also what comes behind the router. The only exceptions are the public pages.
 */
export class GuardedRouter<State> extends BaseRouter<State, RouteBody> {
  readonly #parts: GuardedRouterParts<State>;
  readonly #complete = new WeakSet<Layer<State>>();
  #completed = 0;

  /** @param prefix - a path without parameters */
  constructor(prefix: string, parts: GuardedRouterParts<State>) {
    super({ prefix, sensitive: true });
    this.#parts = parts;
    this.on(RouterEvents.NotFound, async (ctx, next) => this.#answerUnmatched(ctx, next));
  }

  override prefix(): never {
    throw new ConfigError(
      'createApiRouter',
      'set the option prefix instead of calling prefix(), which would move neither the guard nor the description of the API',
    );
  }

  override middleware(): Routes<State> {
    this.#completeRoutes();
    const { admit, allowOrigins, answerErrors, countRequest, guard, own, publicPages } = this.#parts;
    const { prefix = '' } = this.opts;
    const below = `${prefix}/`;
    const segmentOf = (path: string): string => path.slice(below.length).split('/', 1)[0]!;
    const ownSegments = new Set(own.stack.map(({ path }) => segmentOf(String(path))));
    const ofApi = own.middleware() as unknown as Middleware<State>;
    const ofHost = super.middleware() as unknown as Middleware<State>;

    // Not async: the requests for the host's other routes pass through here.
    const run: Middleware<State> = (ctx, next) => {
      if (!ctx.path.startsWith(below) && ctx.path !== prefix) return next();
      return allowOrigins ? allowOrigins(ctx, async () => enter(ctx, next)) : enter(ctx, next);
    };
    // Not composed: that would make two functions and a promise more for each of them, in every request.
    const enter: Middleware<State> = (ctx, next) =>
      admit(ctx, () => {
        const page = publicPages.get(ctx.path);
        if (page && (ctx.method === 'GET' || ctx.method === 'HEAD')) return page(ctx, next);
        return answerErrors(ctx, () => guard(ctx, () => count(ctx, next)));
      });
    const answer: Middleware<State> = (ctx, next) => {
      if (this.stack.length !== this.#completed) this.#completeRoutes();
      // Most requests are for routes of the host, and are not compared with each route of the API itself.
      return ownSegments.has(segmentOf(ctx.path))
        ? ofApi(ctx, async () => ofHost(ctx, next))
        : ofHost(ctx, next);
    };
    const count: Middleware<State> = countRequest
      ? (ctx, next) => countRequest(ctx, async () => answer(ctx, next))
      : answer;

    // A router copies the routes of another one inside it, without what comes before them.
    const routes = serveOnly(run as Routes<State>, (path) => path.startsWith(prefix));
    return Object.defineProperty(routes, 'router', {
      get() {
        throw new ConfigError(
          'createApiRouter',
          'mount its routes() on the app, not in another router, where the guard would not run; to move it, set the option prefix',
        );
      },
    });
  }

  /**
   * Completes the routes that the host has added since the last time.
   *
   * @throws ConfigError for a regular expression
   */
  #completeRoutes(): void {
    for (const layer of this.stack) {
      if (this.#complete.has(layer)) continue;
      if (layer.path instanceof RegExp) {
        throw new ConfigError(
          'createApiRouter',
          `write a path such as '/schools/:id' instead of the regular expression ${layer.path}, which koa-router compares with the whole path of a request, without the prefix`,
        );
      }
      this.#parts.completeRoute(layer);
      this.#complete.add(layer);
    }
    this.#completed = this.stack.length;
  }

  /**
   * Answers requests that no route matched and no middleware behind the router answered: 404, or 405 with the allowed methods
   * (RFC 9110 section 15.5.6).
   */
  async #answerUnmatched(ctx: Context, next: Next): Promise<void> {
    await next();
    if (ctx.respond === false || ctx.headerSent || ctx.status !== 404 || ctx.body != null) return;
    const layers = [this.#parts.own, this].flatMap((router) => router.match(ctx.path, ctx.method).path);
    const methods = [...new Set(layers.flatMap((layer) => layer.methods))];
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
  }
}
