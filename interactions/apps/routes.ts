import type { Developer, InteractionFlow } from '../../lib/contracts/index.ts';
import { pathParameter, seeOther } from '../navigation.ts';
import type { Page } from '../page.ts';
import type { Step } from '../page-request.ts';
import type { PageRouter } from '../page-router.ts';
import { describeViewer, signedIn } from '../viewer.ts';
import { showActivity } from './activity.ts';
import { askForNewApp, createApp } from './create.ts';
import { afterwards, appPath } from './developer-request.ts';
import type { AppRequest, DeveloperRequest } from './developer-request.ts';
import { askToRemoveKeys, removeKeys, saveKeys, showKeys } from './keys.ts';
import { listApps } from './list.ts';
import { removeLogo, saveLogo, saveSettings, showSettings } from './settings.ts';
import { savePermissions, showPermissions } from './permissions.ts';
import { addSecret, askToDeleteSecret, deleteSecret, showSecrets } from './secrets.ts';
import { askToConfirm } from '../page-request.ts';
import { sentence } from '../sentence.ts';
import { titleOfApp } from '../unregistered.ts';

/** Adds the routes of the developer area. */
export function addAppRoutes(router: PageRouter, path: string, { basePath }: InteractionFlow): void {
  const home = basePath + path;

  const run = (step: (request: DeveloperRequest) => Promise<void> | void): Step =>
    signedIn(async (request, user) => {
      const developer = await request.flow.developer(request.ctx, user);
      const viewer = await describeViewer(request, user, developer);
      const show = (page: Page): void => request.show({ viewer, wide: true, ...page });
      await step({ ...request, developer, home, show });
    });
  const ofApp = (step: (request: AppRequest) => Promise<void> | void): Step =>
    run(async (request) => {
      const client = await request.developer.find(pathParameter(request.ctx, 'id'));
      await step({ ...request, client, path: appPath(home, client.id) });
    });

  const app = `${path}/:id`;
  router
    .page(path, run(listApps))
    .page(`${path}/new`, run(askForNewApp))
    .form(`${path}/new`, run(createApp))
    .page(
      app,
      ofApp(async (request) => showSettings(request)),
    )
    .form(app, ofApp(saveSettings))
    // After a posted form, its URL is in the address bar; it may be opened again by a GET.
    .page(
      [`${app}/logo`, `${app}/logo/remove`, `${app}/enable`],
      run(({ ctx }) => seeOther(ctx, appPath(home, pathParameter(ctx, 'id')))),
    )
    .form(`${app}/logo`, ofApp(saveLogo))
    .form(`${app}/logo/remove`, ofApp(removeLogo))
    .page(`${app}/permissions`, ofApp(showPermissions))
    .form(`${app}/permissions`, ofApp(savePermissions))
    .page(`${app}/secrets`, ofApp(showSecrets))
    .form(`${app}/secrets`, ofApp(addSecret))
    .page(`${app}/secrets/:secret/delete`, ofApp(askToDeleteSecret))
    .form(`${app}/secrets/:secret/delete`, ofApp(deleteSecret))
    .page(`${app}/keys`, ofApp(showKeys))
    .form(`${app}/keys`, ofApp(saveKeys))
    .page(`${app}/keys/remove`, ofApp(askToRemoveKeys))
    .form(`${app}/keys/remove`, ofApp(removeKeys))
    .page(`${app}/activity`, ofApp(showActivity))
    .page(`${app}/revoke`, ofApp(askBefore('revoke')))
    .form(
      `${app}/revoke`,
      ofApp(change('tokensRevoked', async (developer, id) => developer.revokeTokens(id))),
    )
    .page(`${app}/disable`, ofApp(askBefore('disable')))
    .form(`${app}/disable`, ofApp(change('disabled', async (developer, id) => developer.disable(id))))
    .form(`${app}/enable`, ofApp(change('enabled', async (developer, id) => developer.enable(id))))
    .page(`${app}/delete`, ofApp(askBefore('delete')))
    .form(`${app}/delete`, ofApp(deleteApp));
}

/** Asks for confirmation before an app is deleted or disabled, or its tokens are revoked. */
function askBefore(what: 'delete' | 'disable' | 'revoke') {
  return function ask(request: AppRequest): void {
    const { client, path, text } = request;
    askToConfirm(request, {
      heading: sentence(text[`apps.${what}Heading`], { client: titleOfApp(client, text) }),
      lead: sentence(text[`apps.${what}Lead`]),
      action: `${path}/${what}`,
      button: text[`apps.${what}`],
      cancel: path,
    });
  };
}

/** Creates a step that changes an app and redirects to its page with a confirmation. */
function change(
  done: Parameters<typeof afterwards>[1],
  make: (developer: Developer, id: string) => Promise<unknown>,
) {
  return async function changeApp({ client, ctx, developer, path }: AppRequest): Promise<void> {
    await make(developer, client.id);
    seeOther(ctx, afterwards(path, done));
  };
}

/** Deletes an app permanently. */
async function deleteApp({ client, ctx, developer, home }: AppRequest): Promise<void> {
  await developer.delete(client.id);
  seeOther(ctx, afterwards(home, 'deleted'));
}
