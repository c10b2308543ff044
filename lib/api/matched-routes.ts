/** Middleware in front of routes. It is added where koa-router has matched a route, so that no route can run without it. */
import type { Middleware } from 'koa';
import { Router } from 'koa-router';

import { ConfigError } from '../errors.ts';
import { METHODS_WITH_BODY } from './route-bodies.ts';
import type { RouteBodies, RouteBody } from './route-bodies.ts';

/** Adds a public `GET` route. Only its handler runs, whatever other layers match the path. */
export type AddPublicRoute = (path: string, handler: Middleware) => void;

/**
 * Runs `guardRoute` in front of every route of a router, after the router has matched the route. The only exceptions are routes
 * that are added by the returned function.
 *
 * `router.use(guard)` is not sufficient: koa-router matches its path separately and case-sensitively, so it does not run for
 * routes that are regular expressions, nor for `/API/v1/schools` of a nested router, although those routes run.
 */
export function guardEveryRoute<State>(
  router: Router<State, RouteBody>,
  guardRoute: Middleware<State>,
): AddPublicRoute {
  const { stack: guardLayers } = new Router<State, RouteBody>().use(guardRoute);
  const publicLayers = new Set<Router<State, RouteBody>['stack'][number]>();
  const match = router.match.bind(router);
  router.match = (path, method) => {
    const matched = match(path, method);
    const publicLayer = matched.pathAndMethod.find((layer) => publicLayers.has(layer));
    if (publicLayer) matched.pathAndMethod = [publicLayer];
    else if (matched.route) matched.pathAndMethod.unshift(...guardLayers);
    return matched;
  };

  // A router inside another one has its routes copied, but not its match(), so the guard would not run.
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

  return function addPublicRoute(path, handler) {
    router.get(path, handler);
    publicLayers.add(router.stack.at(-1)!);
  };
}

/** Parses the bodies of requests to all routes that are added after this call. */
export function parseHostBodies<State>(router: Router<State, RouteBody>, bodies: RouteBodies): void {
  const { stack: parserLayers } = new Router<State, RouteBody>().use(bodies.parse);
  const apiLayers = new Set(router.stack);
  const register = router.register.bind(router);
  router.register = (path, methods, ...rest) => {
    if (methods.some((method) => METHODS_WITH_BODY.includes(method.toUpperCase()))) bodies.load();
    return register(path, methods, ...rest);
  };
  const match = router.match.bind(router);
  router.match = (path, method) => {
    const matched = match(path, method);
    if (!METHODS_WITH_BODY.includes(method)) return matched;
    // The first matching route answers. The API's own routes read their bodies themselves.
    const index = matched.pathAndMethod.findIndex(({ methods }) => methods.length > 0);
    const route = matched.pathAndMethod[index];
    if (route && !apiLayers.has(route)) matched.pathAndMethod.splice(index, 0, ...parserLayers);
    return matched;
  };
}
