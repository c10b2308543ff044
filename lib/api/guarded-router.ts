import type { Middleware } from 'koa';
import { Router } from 'koa-router';
import type { MatchResult, RouterOptions } from 'koa-router';

import { ConfigError } from '../errors.ts';
import { METHODS_WITH_BODY } from './route-bodies.ts';
import type { RouteBodies, RouteBody } from './route-bodies.ts';

// Of the two constructors that the package declares, a class can extend only one.
const BaseRouter: new <State, Context>(options?: RouterOptions) => Router<State, Context> = Router;

type Matched<State> = MatchResult<State, RouteBody>;
type Layers<State> = Matched<State>['path'];

/**
 * A koa-router that runs a guard in front of every route that it has matched. The only exceptions are routes that
 * {@link GuardedRouter.addPublic} adds.
 *
 * `router.use(guard)` is not sufficient: koa-router matches its path separately and case-sensitively, so it does not run for
 * routes that are regular expressions, nor for `/API/v1/schools` of a nested router, although those routes run.
 */
export class GuardedRouter<State> extends BaseRouter<State, RouteBody> {
  readonly #guard: Layers<State>;
  readonly #public = new Set<Layers<State>[number]>();
  #bodies:
    | { readonly load: () => void; readonly parser: Layers<State>; readonly readsOwn: ReadonlySet<unknown> }
    | undefined;

  constructor(options: RouterOptions, guardRoute: Middleware<State>) {
    super(options);
    this.#guard = layersOf(guardRoute);
  }

  /** Adds a public `GET` route. Only its handler runs, whatever other layers match the path. */
  addPublic(path: string, handler: Middleware): void {
    this.get(path, handler);
    this.#public.add(this.stack.at(-1)!);
  }

  /** Parses the bodies of requests to all routes that are added after this call. */
  parseBodies({ load, parse }: RouteBodies): void {
    this.#bodies = { load, parser: layersOf(parse), readsOwn: new Set(this.stack) };
  }

  override register(
    ...route: Parameters<Router<State, RouteBody>['register']>
  ): ReturnType<Router<State, RouteBody>['register']> {
    const [, methods] = route;
    if (methods.some((method) => METHODS_WITH_BODY.includes(method.toUpperCase()))) this.#bodies?.load();
    return super.register(...route);
  }

  override match(path: string, method: string): Matched<State> {
    const matched = super.match(path, method);
    if (!matched.route) return matched;
    const { pathAndMethod: layers } = matched;
    const open = layers.find((layer) => this.#public.has(layer));
    if (open) return { ...matched, pathAndMethod: [open] };
    if (this.#bodies && METHODS_WITH_BODY.includes(method)) {
      // The first matching route answers.
      const index = layers.findIndex(({ methods }) => methods.length > 0);
      if (!this.#bodies.readsOwn.has(layers[index])) layers.splice(index, 0, ...this.#bodies.parser);
    }
    layers.unshift(...this.#guard);
    return matched;
  }

  override middleware(): ReturnType<Router<State, RouteBody>['middleware']> {
    // A router inside another one has its routes copied, but not its match(), so the guard would not run.
    return Object.defineProperty(super.middleware(), 'router', {
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
