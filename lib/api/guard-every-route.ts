import type { Middleware } from 'koa';
import { Router } from 'koa-router';

import type { GuardedState, User } from '../contracts.ts';
import { ConfigError } from '../errors.ts';

/**
 * Puts the entrance in front of every route of a router, at the point where the router has decided which to run.
 *
 * `router.use(guard)` would not do: koa-router matches it against the path by itself, and case-sensitively. It would
 * not run for routes that are regular expressions, nor for `/API/v1/schools` of a nested router, while the route would.
 */
export function guardEveryRoute<P extends string, U extends User>(
  router: Router<GuardedState<P, U>>,
  entrance: Middleware<GuardedState<P, U>>,
): void {
  const { stack: entranceLayers } = new Router<GuardedState<P, U>>().use(entrance);
  const match = router.match.bind(router);
  router.match = (path, method) => {
    const matched = match(path, method);
    if (matched.route) matched.pathAndMethod.unshift(...entranceLayers);
    return matched;
  };

  // A router that is used inside another one is taken apart: its routes would be copied, its match() would not.
  const middleware = router.middleware.bind(router);
  router.middleware = () =>
    Object.defineProperty(middleware(), 'router', {
      get() {
        throw new ConfigError(
          'createApiRouter',
          'mount its routes() on the app, not inside another router, which would leave the guard out; the option prefix moves it',
        );
      },
    });
}
