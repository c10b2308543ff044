import type { Middleware } from 'koa';
import compose from 'koa-compose';
import { Router } from 'koa-router';
import type { MatchResult, RouterOptions } from 'koa-router';

import { ConfigError } from '../errors.ts';
import { METHODS_WITH_BODY } from './route-bodies.ts';
import type { BodyParsers, RouteBody } from './route-bodies.ts';

// Of the two constructors that the package declares, a class can extend only one.
const BaseRouter: new <State, Context>(options?: RouterOptions) => Router<State, Context> = Router;

type Matched<State> = MatchResult<State, RouteBody>;
type Layers<State> = Matched<State>['path'];
type Layer<State> = Layers<State>[number];

/**
 * A koa-router that runs a guard in front of every route that it has matched. The only exceptions are routes that
 * {@link GuardedRouter.addPublic} adds.
 *
 * `router.use(guard)` is not sufficient: koa-router matches its path separately and case-sensitively, so it does not run for
 * routes that are regular expressions, nor for `/API/v1/schools` of a nested router, although those routes run.
 */
export class GuardedRouter<State> extends BaseRouter<State, RouteBody> {
  readonly #guard: Middleware<State>;
  readonly #allowOrigins: Middleware | undefined;
  readonly #guarded = new Map<Layer<State>, Layer<State>>();
  readonly #public = new Set<Layer<State>>();
  /** The routes of the API itself, which come first. */
  #own: Layers<State> = [];
  #ownPaths = /^/;
  #bodies: { readonly parsers: BodyParsers; readonly automatic: Layers<State> } | undefined;

  /** @param allowOrigins - comes before everything below the prefix, also what no route answers */
  constructor(options: RouterOptions, guardRoute: Middleware<State>, allowOrigins?: Middleware) {
    super(options);
    this.#guard = guardRoute;
    this.#allowOrigins = allowOrigins;
  }

  /** Adds a public `GET` route. Only its handler runs, whatever other layers match the path. */
  addPublic(path: string, handler: Middleware): void {
    this.get(path, handler);
    this.#public.add(this.stack.at(-1)!);
  }

  /**
   * Ends the routes of the API itself: all that are added after this call are the host's.
   * @param parsers - of the bodies of requests to the host's routes
   * @param automatic - the one of routes that have none of their own. Left out: theirs are not parsed
   */
  endOwnRoutes(parsers: BodyParsers, automatic?: Middleware): void {
    this.#own = [...this.stack];
    this.#ownPaths = pathsOf(this.#own);
    this.#bodies = automatic && { parsers, automatic: layersOf(automatic) };
  }

  override prefix(path: string): ReturnType<Router<State, RouteBody>['prefix']> {
    const result = super.prefix(path);
    this.#ownPaths = pathsOf(this.#own);
    return result;
  }

  override param(
    ...parameter: Parameters<Router<State, RouteBody>['param']>
  ): ReturnType<Router<State, RouteBody>['param']> {
    // It changes the middleware of the layers.
    this.#guarded.clear();
    return super.param(...parameter);
  }

  override register(
    ...route: Parameters<Router<State, RouteBody>['register']>
  ): ReturnType<Router<State, RouteBody>['register']> {
    const [, methods] = route;
    if (methods.some((method) => METHODS_WITH_BODY.includes(method.toUpperCase())))
      this.#bodies?.parsers.load();
    return super.register(...route);
  }

  override match(path: string, method: string): Matched<State> {
    const matched = this.#search(path, method.toUpperCase());
    if (!matched.route) return matched;
    const { pathAndMethod: layers } = matched;
    const open = layers.find((layer) => this.#public.has(layer));
    if (open) return { ...matched, pathAndMethod: [open] };
    if (this.#bodies && METHODS_WITH_BODY.includes(method)) {
      // The first matching route answers.
      const index = layers.findIndex(({ methods }) => methods.length > 0);
      const { automatic, parsers } = this.#bodies;
      const hasParser = ({ stack }: Layer<State>): boolean => stack.some(parsers.has);
      if (!this.#own.includes(layers[index]!) && !layers.some(hasParser))
        layers.splice(index, 0, ...automatic);
    }
    layers[0] = this.#withGuard(layers[0]!);
    return matched;
  }

  /** What koa-router's own search finds, without comparing the path with each route of the API itself when it is of none. */
  #search(path: string, method: string): Matched<State> {
    const matched: Matched<State> = { path: [], pathAndMethod: [], route: false };
    const { stack } = this;
    for (let index = this.#ownPaths.test(path) ? 0 : this.#own.length; index < stack.length; index += 1) {
      const layer = stack[index]!;
      if (!layer.match(path)) continue;
      matched.path.push(layer);
      const isRoute = layer.methods.length > 0;
      if (isRoute && !layer.methods.includes(method)) continue;
      matched.pathAndMethod.push(layer);
      matched.route ||= isRoute;
    }
    return matched;
  }

  /**
   * The same layer, with the guard in front of its middleware: as one function, because koa-router composes what it calls anew in each
   * request, and a layer for the guard alone would compare the path once more.
   */
  #withGuard(layer: Layer<State>): Layer<State> {
    let guarded = this.#guarded.get(layer);
    if (guarded === undefined) {
      const guard = this.#guard;
      const handle = compose(layer.stack as Middleware<State>[]);
      const stack: Middleware<State>[] = [(ctx, next) => guard(ctx, () => handle(ctx, next))];
      guarded = Object.create(layer, { stack: { value: stack } }) as Layer<State>;
      this.#guarded.set(layer, guarded);
    }
    return guarded;
  }

  #withOrigins(routes: ReturnType<Router<State, RouteBody>['middleware']>): typeof routes {
    const allowOrigins = this.#allowOrigins;
    if (allowOrigins === undefined) return routes;
    const { prefix = '' } = this.opts;
    const run: Middleware<State, RouteBody> = (ctx, next) =>
      ctx.path === prefix || ctx.path.startsWith(`${prefix}/`)
        ? allowOrigins(ctx, async () => routes(ctx as never, next))
        : routes(ctx as never, next);
    return run as typeof routes;
  }

  override middleware(): ReturnType<Router<State, RouteBody>['middleware']> {
    // A router inside another one has its routes copied, but not its match(), so the guard would not run.
    return Object.defineProperty(this.#withOrigins(super.middleware()), 'router', {
      get() {
        throw new ConfigError(
          'createApiRouter',
          'mount its routes() on the app, not in another router, where the guard would not run; to move it, set the option prefix',
        );
      },
    });
  }
}

/** A middleware as koa-router stores it, for any path. */
function layersOf<State>(middleware: Middleware<State>): Layers<State> {
  return new Router<State, RouteBody>().use(middleware).stack;
}

/** Matches every path that one of the layers matches. */
function pathsOf<State>(layers: Layers<State>): RegExp {
  return new RegExp(layers.map(({ regexp }) => regexp.source).join('|'));
}
