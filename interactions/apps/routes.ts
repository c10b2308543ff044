import type { Middleware } from 'koa';
import Router from 'koa-router';
import type { InteractionFlow } from '../../lib/contracts/index.ts';
import { seeOther } from '../navigation.ts';
import type { PageContextFor } from '../page-context.ts';
import { describeViewer, signedIn } from '../viewer.ts';
import { showActivity } from './activity.ts';
import { askForNewApp, createApp } from './create.ts';
import { askFirst, deleteApp, disableApp, enableApp, revokeTokens } from './lifecycle.ts';
import { listApps } from './list.ts';
import { savePermissions, showPermissions } from './permissions.ts';
import { addSecret, askToDeleteSecret, deleteSecret, showSecrets } from './secrets.ts';
import { saveSettings, showSettings } from './settings.ts';
import { appPath, parameter } from './developer-request.ts';
import type { Step } from './developer-request.ts';

/**
 * Routes the developer area.
 *
 * @param view - in front of every page
 * @param form - in front of every form that is posted
 */
export function appRoutes(
  flow: InteractionFlow,
  pageContextFor: PageContextFor,
  path: string,
  { view, form }: { view: Middleware[]; form: Middleware[] },
): Middleware {
  const home = flow.basePath + path;

  const run = (step: Step): Middleware =>
    signedIn(pageContextFor, async (ctx, user, pageContext) => {
      const developer = await flow.developer(ctx, user);
      const viewer = await describeViewer(ctx, user, pageContext, true);
      await step({ ctx, pageContext, developer, viewer, home });
    });

  const app = `${path}/:id`;
  const router = new Router()
    .get(path, ...view, run(listApps))
    .get(`${path}/new`, ...view, run(askForNewApp))
    .post(`${path}/new`, ...form, run(createApp))
    .get(app, ...view, run(showSettings))
    .post(app, ...form, run(saveSettings))
    .get(`${app}/permissions`, ...view, run(showPermissions))
    .post(`${app}/permissions`, ...form, run(savePermissions))
    .get(`${app}/secrets`, ...view, run(showSecrets))
    .post(`${app}/secrets`, ...form, run(addSecret))
    .get(`${app}/secrets/:secret/delete`, ...view, run(askToDeleteSecret))
    .post(`${app}/secrets/:secret/delete`, ...form, run(deleteSecret))
    .get(`${app}/activity`, ...view, run(showActivity))
    .get(`${app}/revoke`, ...view, run(askFirst('revoke')))
    .post(`${app}/revoke`, ...form, run(revokeTokens))
    .get(`${app}/disable`, ...view, run(askFirst('disable')))
    .post(`${app}/disable`, ...form, run(disableApp))
    // What a posted form leaves in the address bar, opened again.
    .get(`${app}/enable`, ...view, run(backToApp))
    .post(`${app}/enable`, ...form, run(enableApp))
    .get(`${app}/delete`, ...view, run(askFirst('delete')))
    .post(`${app}/delete`, ...form, run(deleteApp));
  // The router adds to the context itself what its type asks of it.
  return router.routes() as Middleware;
}

const backToApp: Step = async ({ ctx, home }) => seeOther(ctx, appPath(home, parameter(ctx, 'id')));
