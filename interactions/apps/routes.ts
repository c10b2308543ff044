import type { Middleware } from 'koa';
import Router from 'koa-router';
import type { InteractionFlow } from '../../lib/contracts/index.ts';
import { pathParameter, seeOther } from '../navigation.ts';
import type { PageContextFor } from '../page-context.ts';
import { describeViewer, signedIn } from '../viewer.ts';
import { showActivity } from './activity.ts';
import { askForNewApp, createApp } from './create.ts';
import { askToRemoveKeys, removeKeys, saveKeys, showKeys } from './keys.ts';
import { askToConfirm, deleteApp, disableApp, enableApp, revokeTokens } from './lifecycle.ts';
import { listApps } from './list.ts';
import { savePermissions, showPermissions } from './permissions.ts';
import { addSecret, askToDeleteSecret, deleteSecret, showSecrets } from './secrets.ts';
import { saveSettings, showSettings } from './settings.ts';
import { appPath } from './developer-request.ts';
import type { Step } from './developer-request.ts';

/**
 * Routes of the developer area.
 *
 * @param view - middleware before each page
 * @param form - middleware before each posted form
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
    .get(`${app}/keys`, ...view, run(showKeys))
    .post(`${app}/keys`, ...form, run(saveKeys))
    .get(`${app}/keys/remove`, ...view, run(askToRemoveKeys))
    .post(`${app}/keys/remove`, ...form, run(removeKeys))
    .get(`${app}/activity`, ...view, run(showActivity))
    .get(`${app}/revoke`, ...view, run(askToConfirm('revoke')))
    .post(`${app}/revoke`, ...form, run(revokeTokens))
    .get(`${app}/disable`, ...view, run(askToConfirm('disable')))
    .post(`${app}/disable`, ...form, run(disableApp))
    // After a posted form, its URL is in the address bar; it may be opened again by a GET.
    .get(`${app}/enable`, ...view, run(backToApp))
    .post(`${app}/enable`, ...form, run(enableApp))
    .get(`${app}/delete`, ...view, run(askToConfirm('delete')))
    .post(`${app}/delete`, ...form, run(deleteApp));
  // The router's type requires a context with members that the router adds itself.
  return router.routes() as Middleware;
}

const backToApp: Step = async ({ ctx, home }) => seeOther(ctx, appPath(home, pathParameter(ctx, 'id')));
