import type { Context } from 'koa';

import type { Client, InteractionFlow, LogoutPage, PageRedirect, User } from '../contracts/index.ts';
import { PATHS } from '../engine/endpoints.ts';
import { at, redirectTo } from './answer-page.ts';
import type { AnswerPage } from './answer-page.ts';
import { ownPageOf } from './login-page.ts';
import type { PagePaths } from './login-page.ts';
import type { LoginSessions } from './login-session.ts';

/** The request of an app to sign the user of this browser out (OpenID Connect RP-Initiated Logout 1.0). */
export interface LogoutRequest {
  /** `undefined` when the request does not say which app has sent it. */
  readonly client: Client | undefined;
  /** Whether the request is about the login session of this browser and its user. Otherwise ask the user first (section 2). */
  readonly isOfSession: boolean;
  /** The URL to send the browser to afterwards; `undefined` when a page has to say that the user is signed out. */
  readonly next: string | undefined;
  /**
   * Whether the browser may be redirected to `next` after the logout, when the page that asks for the logout has named the target.
   * Otherwise show a page with a link that names the host of `next`. For an app for which nobody vouches, it may be redirected only if
   * the user has agreed to be sent to that host; for any other app, only if a user is signed in or the app has shown an ID token of its
   * own (section 3).
   */
  readonly mayReturn: boolean;
}

/** What the logout page is made of. */
export interface LogoutPageParts {
  readonly sessions: Pick<LoginSessions, 'loginUrl' | 'logout'>;
  /**
   * The user whom a logout would sign out. That nobody is signed in lasts, where the storage can confirm it.
   *
   * @throws StorageError when that cannot be confirmed
   */
  userToSignOut(this: void, ctx: Context): Promise<User | undefined>;
  /**
   * Reads what an app asks for in the query. `undefined`: no feature lets apps ask.
   *
   * @throws GatehouseError with a status of 4xx when the request is wrong
   */
  readonly logoutRequest: ((ctx: Context) => Promise<LogoutRequest | undefined>) | undefined;
}

type Result = Extract<LogoutPage, { kind: 'done' }>['result'];

/** Makes the page on which a user ends the login session. An app that shows an ID token of the session ends it at once. */
export function createLogoutPage(
  paths: PagePaths,
  answerPage: AnswerPage,
  { logoutRequest, sessions, userToSignOut }: LogoutPageParts,
): InteractionFlow['logout'] {
  return answerPage<true, LogoutPage>({
    placeOf: at(PATHS.end_session),
    async answer(ctx) {
      const asked = await logoutRequest?.(ctx);
      // The user who posts the form has seen which app asks for it, and has pressed the button.
      if (ctx.method === 'POST' || asked?.isOfSession) {
        const { hostSessionContinues } = await sessions.logout(ctx);
        return leave(hostSessionContinues ? 'still_logged_in' : 'logged_out', asked);
      }
      const user = await userToSignOut(ctx);
      if (!user) return leave('not_logged_in', asked);
      const action = paths.basePath + PATHS.end_session + (asked ? ctx.search : '');
      const next = asked?.mayReturn ? asked.next : undefined;
      return { kind: 'form', status: 200, action, user, client: asked?.client, next };
    },
  });

  function leave(result: Result, asked: LogoutRequest | undefined): LogoutPage | PageRedirect {
    const next = asked?.next;
    if (next !== undefined && asked?.mayReturn) return redirectTo(next);
    return { kind: 'done', status: 200, result, loginUrl: sessions.loginUrl(ownPageOf(paths)), next };
  }
}
