import type { Middleware } from 'koa';
import Router from 'koa-router';
import { signedIn } from '../signed-in.ts';
import type { InteractionFlow } from '../../lib/contracts/index.ts';
import type { SiteFor } from '../site.ts';
import { askToDisconnect, disconnect } from './disconnect.ts';
import { listConnections } from './list.ts';
import type { Visit } from './visit.ts';

/**
 * Routes people's connected apps.
 *
 * @param view - in front of every page
 * @param form - in front of every form that is posted
 */
export function connectionRoutes(
  { basePath }: InteractionFlow,
  siteFor: SiteFor,
  path: string,
  { view, form }: { view: Middleware[]; form: Middleware[] },
): Middleware {
  const home = basePath + path;
  const run = (step: (visit: Visit) => Promise<void>): Middleware =>
    signedIn(siteFor, async (ctx, user, site) => step({ ctx, site, user, home }));

  const router = new Router()
    .get(path, ...view, run(listConnections))
    .get(`${path}/:id/disconnect`, ...view, run(askToDisconnect))
    .post(`${path}/:id/disconnect`, ...form, run(disconnect));
  // The router adds to the context itself what its type asks of it.
  return router.routes() as Middleware;
}
