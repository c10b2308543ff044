import type { Context } from 'koa';

import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { pathParameter, seeOther } from '../../../interactions/navigation.ts';
import type { Page } from '../../../interactions/page.ts';
import { askToConfirm } from '../../../interactions/page-request.ts';
import type { Step } from '../../../interactions/page-request.ts';
import type { PageRouter } from '../../../interactions/page-router.ts';
import { sentence } from '../../../interactions/sentence.ts';
import { titleOfApp } from '../../../interactions/unregistered.ts';
import { describeViewer, signedIn } from '../../../interactions/viewer.ts';
import type { User } from '../../contracts/index.ts';
import { PermissionMissingError } from '../../errors.ts';
import { showActivity } from './pages/activity.ts';
import { askForNewApp, createApp } from './pages/create.ts';
import { afterwards, appPath, nameOfArea } from './pages/request.ts';
import type { AppRequest, DeveloperRequest } from './pages/request.ts';
import { askToRemoveKeys, removeKeys, saveKeys, showKeys } from './pages/keys.ts';
import { listApps } from './pages/list.ts';
import { removeLogo, saveLogo, saveSettings, showSettings } from './pages/settings.ts';
import { savePermissions, showPermissions } from './pages/permissions.ts';
import { addSecret, askToDeleteSecret, deleteSecret, showSecrets } from './pages/secrets.ts';
import type { AppView } from './pages/view-types.ts';
import { de, en } from './texts.ts';
import type { DeveloperText } from './texts.ts';
import type { Developer } from './types.ts';
import { views } from './views.ts';

/** The pages on which users register and manage their apps. */
export function developerPages(
  path: string,
  developerOf: (ctx: Context, user: User) => Promise<Developer>,
): FeaturePages<DeveloperText> {
  // The header of each page has the link, also of these pages: what a user may do is looked up once for both.
  const found = new WeakMap<Context, { readonly userId: string; readonly area: Promise<Developer> }>();
  const areaOf = async (ctx: Context, user: User): Promise<Developer> => {
    const known = found.get(ctx);
    if (known?.userId === user.id) return known.area;
    const area = developerOf(ctx, user);
    found.set(ctx, { userId: user.id, area });
    return area;
  };
  return {
    views,
    texts: { en, de },
    async link(ctx, user) {
      try {
        return { path, text: nameOfArea(await areaOf(ctx, user)) };
      } catch (error) {
        if (error instanceof PermissionMissingError) return undefined;
        throw error;
      }
    },
    addRoutes: (router, basePath) => addAppRoutes(router, { areaOf, basePath, path }),
  };
}

function addAppRoutes(
  router: PageRouter,
  {
    areaOf,
    basePath,
    path,
  }: {
    readonly areaOf: (ctx: Context, user: User) => Promise<Developer>;
    readonly basePath: string;
    readonly path: string;
  },
): void {
  const home = basePath + path;
  type AppStep = Step<DeveloperText, AppView>;

  const run = (step: (request: DeveloperRequest) => Promise<void> | void): AppStep =>
    signedIn<DeveloperText, AppView>(async (request, user) => {
      const developer = await areaOf(request.ctx, user);
      const viewer = await describeViewer(request, user);
      const show = (page: Page<AppView>): void => request.show({ viewer, wide: true, ...page });
      await step({ ...request, developer, home, show });
    });
  const ofApp = (step: (request: AppRequest) => Promise<void> | void): AppStep =>
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
