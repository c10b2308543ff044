import type { Context } from 'koa';

import type {
  InteractionFlow,
  LoginForm,
  LoginFormWithoutClient,
  LoginProblem,
  User,
} from '../contracts/index.ts';
import { PATHS } from '../engine/endpoints.ts';
import { GatehouseError, TooManyAttemptsError } from '../errors.ts';
import { readForm } from '../http/form.ts';
import { queryParameter } from '../http/query.ts';
import { at, redirectTo } from './answer-page.ts';
import type { AnswerPage } from './answer-page.ts';
import type { InteractionSteps } from './interactions.ts';
import { promptPage } from './prompt-page.ts';
import type { OpenInteraction } from '../contracts/browser-request.ts';
import type { LoginSessions } from './login-session.ts';

/** What the login pages are made of. */
export interface LoginPageParts {
  /** Whether users can give their password here, and not on the login page of the host only. */
  readonly checksPasswords: boolean;
  readonly verifyPassword: InteractionFlow['verifyPassword'];
  readonly steps: Pick<InteractionSteps, 'open' | 'pathOf' | 'skipLogin' | 'login'>;
  readonly sessions: Pick<LoginSessions, 'currentUser' | 'loginUrl' | 'pathHere'>;
  /** Logs a user in on this browser, outside an authorization. */
  logIn(this: void, ctx: Context, user: User): Promise<void>;
}

/** Where the pages are. */
export interface PagePaths {
  readonly origin: string;
  readonly basePath: string;
  readonly accountPath: string | undefined;
  readonly sessionsPath: string | undefined;
}

/** Makes the login page of an authorization, and the one outside of it. */
export function createLoginPages(
  paths: PagePaths,
  answerPage: AnswerPage,
  { verifyPassword, checksPasswords, sessions, logIn, steps }: LoginPageParts,
): Pick<InteractionFlow, 'login' | 'loginWithoutClient'> {
  const ownLogin = paths.basePath + PATHS.login;
  const ownPage = ownPageOf(paths);
  const isLogin = at(PATHS.login);

  return {
    login: answerPage(
      promptPage<LoginForm, User>(steps, {
        prompt: 'login',
        forms: checksPasswords ? ['login'] : [],
        async show(ctx, open) {
          const next = await steps.skipLogin(ctx, open);
          const hint = open.request.parameters['login_hint'] ?? '';
          if (next !== undefined) return redirectTo(next);
          if (!checksPasswords) throw new GatehouseError('ERR_LOGIN_REFUSED', REFUSED_LOGIN);
          return loginForm(open, blank(hint));
        },
        async submit(ctx, open) {
          const checked = await check(ctx);
          return 'user' in checked
            ? redirectTo(await steps.login(ctx, open, checked.user))
            : loginForm(open, checked);
        },
        accept: async (ctx, open, user) => redirectTo(await steps.login(ctx, open, user)),
      }),
    ),
    loginWithoutClient: answerPage<true, LoginFormWithoutClient, User | undefined>({
      placeOf: (ctx, user) => (user ? true : isLogin(ctx)),
      async answer(ctx, _place, given) {
        const next = returnTo(ctx);
        const action = ownLogin + ctx.search;
        if (given || (ctx.method === 'POST' && checksPasswords)) {
          const checked = given ? { user: given } : await check(ctx);
          if (!('user' in checked)) return { ...checked, action };
          await logIn(ctx, checked.user);
          return redirectTo(next);
        }
        const prompt = queryParameter(ctx, 'prompt') === 'login' ? 'login' : undefined;
        const loginUrl = sessions.loginUrl(next, { prompt });
        if (!prompt && (await sessions.currentUser(ctx))) return redirectTo(next);
        return isElsewhere(loginUrl, paths) ? redirectTo(loginUrl) : { ...blank(''), action };
      },
    }),
  };

  /** Checks the posted form. Resolves to the user, or to the form to show again. */
  async function check(ctx: Context): Promise<{ readonly user: User } | TypedForm> {
    const { login: typed = '', password = '' } = await readForm(ctx);
    // Blanks around a login come from pasting; in a password they may be intended.
    const login = typed.trim();
    const missing: LoginProblem[] = [];
    if (login === '') missing.push('login_missing');
    if (password === '') missing.push('password_missing');
    if (missing.length > 0) return wrong(login, missing);
    try {
      const user = await verifyPassword(ctx, login, password);
      return user ? { user } : wrong(login, ['login_refused']);
    } catch (error) {
      if (!(error instanceof TooManyAttemptsError)) throw error;
      return { ...wrong(login, ['too_many_attempts']), status: 429, retryAfter: error.retryAfter };
    }
  }

  function loginForm({ request, stored, uid }: OpenInteraction, typed: TypedForm): LoginForm {
    const { parameters } = request;
    return {
      ...typed,
      action: `${steps.pathOf(uid)}/login`,
      client: stored.client,
      redirectUri: parameters['redirect_uri']!,
      uiLocales: parameters['ui_locales']?.split(' '),
    };
  }

  /** The path to redirect to after the login: the one in `?return_to=` if it is on this server, else the user's own page. */
  function returnTo(ctx: Context): string {
    return sessions.pathHere(queryParameter(ctx, 'return_to')) ?? ownPage;
  }
}

const REFUSED_LOGIN =
  'The login at the platform is of a user who is not known here, or it was not repeated where that is needed.';

/** Whether the URL of the login page is that of one of the host. */
export function isElsewhere(
  loginUrl: string,
  { basePath, origin }: Pick<PagePaths, 'basePath' | 'origin'>,
): boolean {
  const url = new URL(loginUrl, origin);
  return url.origin !== origin || url.pathname !== basePath + PATHS.login;
}

type TypedForm = Omit<LoginFormWithoutClient, 'action'>;

function blank(login: string): TypedForm {
  return { kind: 'form', status: 200, login, problems: [], retryAfter: undefined };
}

function wrong(login: string, problems: readonly LoginProblem[]): TypedForm {
  return { ...blank(login), status: 422, problems };
}

/** The page that a user is sent to after the login, when no other one was wanted. */
export function ownPageOf({ accountPath, basePath }: Pick<PagePaths, 'accountPath' | 'basePath'>): string {
  return accountPath === undefined ? '/' : basePath + accountPath;
}
