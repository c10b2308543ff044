import type { Context } from 'koa';

import type {
  AuthorizedApp,
  AuthorizedApps,
  AuthorizedAppsPage,
  InteractionFlow,
  User,
} from '../contracts/index.ts';
import { queryParameter } from '../http/query.ts';
import { decoded, redirectTo } from './answer-page.ts';
import type { PagePaths } from './login-page.ts';
import { restBelow } from './user-page.ts';
import type { AnswerUserPage } from './user-page.ts';

/** What the page of authorized apps is made of. */
export interface AuthorizedAppsPageParts {
  /** The apps that the given user has authorized. */
  authorizedApps(this: void, ctx: Context, user: User): AuthorizedApps;
}

/** What a path below that of the list names. */
interface AppPlace {
  /** `undefined`: the list. */
  readonly clientId: string | undefined;
  /** `undefined`: the whole app. */
  readonly grantId: string | undefined;
}

const BELOW = /^\/([^/]+)\/(?:revoke|grants\/([^/]+)\/revoke)$/i;

/** Makes the pages on which users see the apps that they have authorized, and end their access. */
export function createAuthorizedAppsPage(
  { accountPath, basePath }: PagePaths,
  answerUserPage: AnswerUserPage,
  { authorizedApps }: AuthorizedAppsPageParts,
): InteractionFlow['authorizedApps'] {
  const path = `${basePath}${accountPath}`;

  return answerUserPage<AppPlace, AuthorizedAppsPage>({
    placeOf: (ctx) => (accountPath === undefined ? undefined : placeBelow(accountPath, ctx)),
    async answer(ctx, place, user) {
      const apps = authorizedApps(ctx, user);
      if (ctx.method === 'POST') return redirectTo(`${path}?done=${await end(apps, place)}`);
      const listed = await apps.list();
      if (place.clientId === undefined) {
        return { kind: 'list', status: 200, path, user, ...partOf(listed, ctx), done: doneOf(ctx) };
      }
      const app = listed.find(({ client }) => client.id === place.clientId);
      const grant = app?.grants.find(({ id }) => id === place.grantId);
      // It has ended already.
      if (!app || (place.grantId !== undefined && !grant)) return redirectTo(path);
      return { kind: 'form', status: 200, path, action: basePath + ctx.path, user, app, grant };
    },
  });
}

type ListPage = Extract<AuthorizedAppsPage, { kind: 'list' }>;

// The apps of one page. An agent that registers itself again and again may be authorized as often.
const MOST = 50;

/** The apps that a request searches for, from the one that it names on. */
function partOf(
  all: readonly AuthorizedApp[],
  ctx: Context,
): Pick<ListPage, 'apps' | 'count' | 'search' | 'isFirst' | 'next'> {
  const search = queryParameter(ctx, 'search').trim().slice(0, 100);
  const after = queryParameter(ctx, 'after');
  const found = all.filter(({ client }) => isNamed(client, search.toLowerCase()));
  // The app may have been disconnected meanwhile: from the beginning, then.
  const start = found.findIndex(({ client }) => client.id === after) + 1;
  const apps = found.slice(start, start + MOST);
  return {
    apps,
    count: all.length,
    search,
    isFirst: start === 0,
    next: start + MOST < found.length ? apps.at(-1)!.client.id : undefined,
  };
}

/** By the words that a page shows: of an app that nobody registered, the host of its id, which is a URL. */
function isNamed({ clientUri, id, name }: AuthorizedApp['client'], words: string): boolean {
  return [name, clientUri ?? '', id].some((text) => text.toLowerCase().includes(words));
}

/** Ends the access of an app, or of one grant. It succeeds also when it has ended already, in another tab or by a second click. */
async function end(
  apps: AuthorizedApps,
  { clientId, grantId }: AppPlace,
): Promise<'client_revoked' | 'grant_revoked'> {
  if (grantId === undefined) {
    await apps.revoke(clientId!);
    return 'client_revoked';
  }
  await apps.revokeGrant(clientId, grantId);
  return 'grant_revoked';
}

function placeBelow(accountPath: string, { method, path }: Context): AppPlace | undefined {
  const below = restBelow(accountPath, path);
  if (below === '' && method !== 'POST') return { clientId: undefined, grantId: undefined };
  const [, clientId, grantId] = BELOW.exec(below ?? '') ?? [];
  if (clientId === undefined) return undefined;
  return { clientId: decoded(clientId), grantId: grantId && decoded(grantId) };
}

function doneOf(ctx: Context): 'client_revoked' | 'grant_revoked' | undefined {
  const done = queryParameter(ctx, 'done');
  return done === 'client_revoked' || done === 'grant_revoked' ? done : undefined;
}
