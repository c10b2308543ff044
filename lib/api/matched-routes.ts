/** What runs in front of the route that a request is for: decided where koa-router has matched it, so that nothing gets by. */
import type { Middleware } from 'koa';
import { Router } from 'koa-router';

import { ConfigError } from '../errors.ts';
import { METHODS_WITH_BODY } from './route-bodies.ts';
import type { RouteBodies, RouteBody } from './route-bodies.ts';

/** Adds a `GET` route that strangers may use. Nothing but the route itself runs then, whatever else matches the path. */
export type AddOpenRoute = (path: string, handler: Middleware) => void;

/**
 * Puts the entrance in front of every route of a router, at the point where the router has decided which to run. Routes
 * that are added by the function that comes back are the only ones without it.
 *
 * `router.use(guard)` would not do: koa-router matches it against the path by itself, and case-sensitively. It would
 * not run for routes that are regular expressions, nor for `/API/v1/schools` of a nested router, while the route would.
 */
export function guardEveryRoute<State>(
  router: Router<State, RouteBody>,
  entrance: Middleware<State>,
): AddOpenRoute {
  const { stack: entranceLayers } = new Router<State, RouteBody>().use(entrance);
  const openLayers = new Set<Router<State, RouteBody>['stack'][number]>();
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

/** Parses the bodies that are sent to the routes that are added from here on. */
export function parseBodiesOfHost<State>(router: Router<State, RouteBody>, bodies: RouteBodies): void {
  const { stack: parserLayers } = new Router<State, RouteBody>().use(bodies.parse);
  const ownLayers = new Set(router.stack);
  const register = router.register.bind(router);
  router.register = (path, methods, ...rest) => {
    if (methods.some((method) => METHODS_WITH_BODY.includes(method.toUpperCase()))) bodies.load();
    return register(path, methods, ...rest);
  };
  const match = router.match.bind(router);
  router.match = (path, method) => {
    const matched = match(path, method);
    // The first route answers: what an own one is sent is its own to read.
    const index = matched.pathAndMethod.findIndex(({ methods }) => methods.length > 0);
    const route = matched.pathAndMethod[index];
    if (route && !ownLayers.has(route)) matched.pathAndMethod.splice(index, 0, ...parserLayers);
    return matched;
  };
}
