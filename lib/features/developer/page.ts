import type { Context } from 'koa';

import type { ClientKinds } from '../../contracts/client-kinds.ts';
import type { LoggedOutPage, PageAnswer, PageRedirect, User } from '../../contracts/index.ts';
import { queryParameter } from '../../http/query.ts';
import { decoded, redirectTo } from '../../login/answer-page.ts';
import type { LoginSessions } from '../../login/login-session.ts';
import { createAnswerUserPage, restBelow } from '../../login/user-page.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { showActivity } from './page/activity.ts';
import type { ActivityPage } from './page/activity.ts';
import { askForNewApp, createApp, listApps } from './page/apps.ts';
import type { CreatedPage, ListPage, NewAppPage } from './page/apps.ts';
import {
  addSecret,
  askToDeleteSecret,
  deleteSecret,
  removeKeys,
  saveKeys,
  showKeys,
  showSecrets,
} from './page/credentials.ts';
import type { KeysPage, NewSecretPage, SecretsPage } from './page/credentials.ts';
import { showOverview } from './page/overview.ts';
import type { OverviewPage } from './page/overview.ts';
import { savePermissions, showPermissions } from './page/permissions.ts';
import type { PermissionsPage } from './page/permissions.ts';
import { afterwards, appPath } from './page/request.ts';
import type { AnswerApp, ConfirmPage, OfApp } from './page/request.ts';
import { removeLogo, saveLogo, saveSettings, settingsPath, showSettings } from './page/settings.ts';
import type { SettingsPage } from './page/settings.ts';
import type { Developer } from './types.ts';

/** What the pages of an app show. */
export type AppPage =
  | OverviewPage
  | SettingsPage
  | PermissionsPage
  | SecretsPage
  | NewSecretPage
  | KeysPage
  | ActivityPage
  | ConfirmPage;

/** What the pages of the developer area show. */
export type DeveloperPage = ListPage | NewAppPage | CreatedPage | AppPage;

/** What the pages need. */
export interface DeveloperPageParts {
  /** @throws GatehouseError `ERR_PERMISSION_MISSING` */
  readonly areaOf: (ctx: Context, user: User) => Promise<Developer>;
  readonly kinds: ClientKinds | undefined;
  readonly options: Pick<ResolvedOptions, 'basePath' | 'logger' | 'origin'>;
  readonly path: string;
  readonly sessions: Pick<LoginSessions, 'currentUser' | 'loginUrl'>;
}

/** What a request names: a page of all apps, or one of an app. */
type Place =
  | 'list'
  | 'new'
  | {
      readonly clientId: string;
      /** `undefined`: that of the form that posts to the URL. */
      readonly answer: AnswerApp<AppPage> | undefined;
    };

/** Makes the pages on which users register and manage their apps. */
export function createDeveloperPage({
  areaOf,
  kinds,
  options,
  path,
  sessions,
}: DeveloperPageParts): (ctx: Context) => Promise<PageAnswer<DeveloperPage | LoggedOutPage>> {
  const home = options.basePath + path;
  const answerUserPage = createAnswerUserPage(options, sessions);

  return answerUserPage<Place, DeveloperPage>({
    placeOf: (ctx) => placeBelow(path, ctx),
    async answer(ctx, place, user) {
      const area = { developer: await areaOf(ctx, user), home, done: queryParameter(ctx, 'done') };
      if (place === 'list') return listApps(ctx, area);
      if (place === 'new') return ctx.method === 'POST' ? createApp(ctx, area, kinds) : askForNewApp(area);
      const { answer, clientId } = place;
      // After a form of the settings was posted, its URL is in the address bar, and the browser may open it again by a GET.
      if (!answer) return redirectTo(settingsPath({ path: appPath(home, clientId) }));
      const client = await area.developer.find(clientId);
      return answer(ctx, { ...area, client, path: appPath(home, client.id) });
    },
  });
}

/** By the path below that of an app. */
const APP_PAGES: ReadonlyMap<
  string,
  { readonly get?: AnswerApp<AppPage>; readonly post?: AnswerApp<AppPage> }
> = new Map([
  ['', { get: showOverview }],
  ['/settings', { get: showSettings, post: saveSettings }],
  ['/logo', { post: saveLogo }],
  ['/logo/remove', { post: removeLogo }],
  ['/permissions', { get: showPermissions, post: savePermissions }],
  ['/secrets', { get: showSecrets, post: addSecret }],
  ['/keys', { get: showKeys, post: saveKeys }],
  ['/keys/remove', { get: askBefore('remove keys'), post: removeKeys }],
  ['/activity', { get: showActivity }],
  [
    '/revoke',
    {
      get: askBefore('revoke'),
      post: change('tokensRevoked', async (developer, id) => developer.revokeTokens(id)),
    },
  ],
  [
    '/disable',
    {
      get: askBefore('disable'),
      post: change('disabled', async (developer, id) => developer.disable(id)),
    },
  ],
  ['/enable', { post: change('enabled', async (developer, id) => developer.enable(id)) }],
  ['/delete', { get: askBefore('delete'), post: deleteApp }],
]);

/** The paths of the pages, for a router, and of those that have a form. */
export function pathsOf(own: string): { readonly get: string[]; readonly post: string[] } {
  const below = (rest: string): string => `${own}/:id${rest}`;
  const [all, forms] = [
    [...APP_PAGES.keys()],
    [...APP_PAGES].flatMap(([rest, { post }]) => (post ? [rest] : [])),
  ];
  const ofSecret = `${own}/:id/secrets/:secret/delete`;
  return {
    get: [own, `${own}/new`, ...all.map(below), ofSecret],
    post: [`${own}/new`, ...forms.map(below), ofSecret],
  };
}

const APP = /^\/([^/]+)(.*)$/;
const DELETE_SECRET = /^\/secrets\/([^/]+)\/delete$/i;

function placeBelow(own: string, { method, path }: Context): Place | undefined {
  const isForm = method === 'POST';
  const below = restBelow(own, path);
  if (below === '') return isForm ? undefined : 'list';
  if (below?.toLowerCase() === '/new') return 'new';
  const [, id, rest = ''] = APP.exec(below ?? '') ?? [];
  if (id === undefined) return undefined;
  const clientId = decoded(id);
  const [, secret] = DELETE_SECRET.exec(rest) ?? [];
  if (secret !== undefined) {
    const answer = isForm ? deleteSecret : askToDeleteSecret;
    return { clientId, answer: async (_ctx, app) => answer(app, decoded(secret)) };
  }
  const page = APP_PAGES.get(rest.toLowerCase());
  if (!page || (isForm && !page.post)) return undefined;
  return { clientId, answer: isForm ? page.post : page.get };
}

function askBefore(what: ConfirmPage['change']): AnswerApp<ConfirmPage> {
  return async (_ctx, app) => ({ kind: 'confirm', status: 200, ...app, change: what, secret: undefined });
}

/** Makes what changes an app and redirects to its settings with a confirmation. */
function change(
  done: Parameters<typeof afterwards>[1],
  make: (developer: Developer, id: string) => Promise<unknown>,
): AnswerApp<never> {
  return async (_ctx, app) => {
    await make(app.developer, app.client.id);
    return afterwards(settingsPath(app), done);
  };
}

/** Deletes an app permanently. */
async function deleteApp(_ctx: Context, { client, developer, home }: OfApp): Promise<PageRedirect> {
  await developer.delete(client.id);
  return afterwards(home, 'deleted');
}
