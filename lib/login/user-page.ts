import type { Context } from 'koa';

import type { PageAnswer, PageRedirect, LoggedOutPage, User } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createAnswerPage, refusedPage, redirectTo } from './answer-page.ts';
import type { AnsweredPage, ShownPage } from './answer-page.ts';
import type { LoginSessions } from './login-session.ts';

/** A page that only signed-in users have. */
export interface UserPage<Place, Page> extends Pick<AnsweredPage<Place, Page, undefined>, 'placeOf'> {
  answer(this: void, ctx: Context, place: Place, user: User): Promise<Page | LoggedOutPage | PageRedirect>;
}

/** Makes a page of signed-in users into the function that is called with each request. */
export type AnswerUserPage = <Place, Page extends ShownPage>(
  page: UserPage<Place, Page>,
) => (ctx: Context) => Promise<PageAnswer<Page | LoggedOutPage>>;

/** Where nobody is signed in, the pages redirect to the login page; an error page says who is. */
export function createAnswerUserPage(
  options: Pick<ResolvedOptions, 'basePath' | 'logger' | 'origin'>,
  { currentUser, loginUrl }: Pick<LoginSessions, 'currentUser' | 'loginUrl'>,
): AnswerUserPage {
  const answerPage = createAnswerPage(options);
  return ({ answer, placeOf }) =>
    answerPage({
      placeOf,
      async answer(ctx, place) {
        const user = await currentUser(ctx);
        if (user)
          return answer(ctx, place, user).catch((error: unknown) =>
            refusedPage(ctx, error, { ...options, user }),
          );
        const here = options.basePath + ctx.path;
        return ctx.method === 'POST' ? loggedOut(loginUrl(here)) : redirectTo(loginUrl(here + ctx.search));
      },
    });
}

/** A redirect would lose the posted form. After a sign-in in another tab, reloading this page posts it again. */
export function loggedOut(loginUrl: string): LoggedOutPage {
  return { kind: 'logged_out', status: 403, loginUrl };
}

/** What follows the path of a page in a path below it, or in the path itself: `''`. `undefined`: the path is another one. */
export function restBelow(own: string, path: string): string | undefined {
  const rest = path.slice(own.length).replace(/\/$/, '');
  const isBelow = path.toLowerCase().startsWith(own.toLowerCase()) && (rest === '' || rest.startsWith('/'));
  return isBelow ? rest : undefined;
}
