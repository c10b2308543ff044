import type { Context } from 'koa';

import type { InteractionFlow, SessionsPage, User, UserSessions } from '../contracts/index.ts';
import { queryParameter } from '../http/query.ts';
import { decoded, redirectTo } from './answer-page.ts';
import type { PagePaths } from './login-page.ts';
import { restBelow } from './user-page.ts';
import type { AnswerUserPage } from './user-page.ts';

/** What the page of login sessions is made of. */
export interface SessionsPageParts {
  /** The id of the login session of this browser. */
  sessionIdOf(this: void, ctx: Context): Promise<string | undefined>;
  userSessions(this: void, ctx: Context, user: User): UserSessions;
}

/** What a path names: the list, a form that ends all other sessions, or one that ends the session with this id. */
type Place = 'list' | 'others' | { readonly id: string };

const BELOW = /^\/(?:end-others|([^/]+)\/end)$/i;

/** Makes the page on which users see the browsers in which they are logged in, and end those logins. */
export function createSessionsPage(
  { basePath, sessionsPath }: PagePaths,
  answerUserPage: AnswerUserPage,
  { sessionIdOf, userSessions }: SessionsPageParts,
): InteractionFlow['sessions'] {
  const path = `${basePath}${sessionsPath}`;

  return answerUserPage<Place, SessionsPage>({
    placeOf: (ctx) => (sessionsPath === undefined ? undefined : placeBelow(sessionsPath, ctx)),
    async answer(ctx, place, user) {
      const current = await sessionIdOf(ctx);
      const ofUser = userSessions(ctx, user);
      if (ctx.method === 'POST') {
        if (typeof place === 'object') await ofUser.end(place.id);
        else await ofUser.endOthers(current ?? '');
        return redirectTo(`${path}?done=${typeof place === 'object' ? 'ended' : 'ended_others'}`);
      }
      // After a posted form, its URL may be in the address bar.
      if (place !== 'list') return redirectTo(path);
      const listed = await ofUser.list();
      return { kind: 'list', status: 200, path, user, ...listed, current, done: doneOf(ctx) };
    },
  });
}

function placeBelow(sessionsPath: string, { method, path }: Context): Place | undefined {
  const below = restBelow(sessionsPath, path);
  if (below === '' && method !== 'POST') return 'list';
  const [found, id] = BELOW.exec(below ?? '') ?? [];
  if (found === undefined) return undefined;
  return id === undefined ? 'others' : { id: decoded(id) };
}

function doneOf(ctx: Context): 'ended' | 'ended_others' | undefined {
  const done = queryParameter(ctx, 'done');
  return done === 'ended' || done === 'ended_others' ? done : undefined;
}
