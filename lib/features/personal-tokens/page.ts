import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import { DAY } from '../../contracts/duration.ts';
import { fieldError } from '../../contracts/field-errors.ts';
import type { FieldError, PageAnswer, PageRedirect, LoggedOutPage, User } from '../../contracts/index.ts';
import { readForm, readOnce } from '../../http/form.ts';
import { queryParameter } from '../../http/query.ts';
import { decoded, redirectTo } from '../../login/answer-page.ts';
import { isElsewhere } from '../../login/login-page.ts';
import type { LoginSessions } from '../../login/login-session.ts';
import { createAnswerUserPage, restBelow, loggedOut } from '../../login/user-page.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { PersonalTokenInvalidError } from './errors.ts';
import type { NewPersonalToken, OwnPersonalTokens, PersonalToken } from './types.ts';

/** An API that a token can be for. */
export type Api = OwnPersonalTokens['apis'][number];

/** What each of the pages has. */
interface OfUser {
  readonly user: User;
  /** The user's tokens, and what a new one can be. */
  readonly own: OwnPersonalTokens;
  /** URL path of the list. */
  readonly home: string;
}

/** What the pages show on which users list, create and revoke their tokens. */
export type TokenPage = OfUser &
  (
    | {
        readonly kind: 'list';
        readonly status: 200;
        readonly tokens: readonly PersonalToken[];
        /** What the user has just done. `created`: an earlier post of the form has created the token. */
        readonly done: string;
      }
    /** To create a token, the user has to sign in at the host's page first. */
    | { readonly kind: 'login'; readonly status: 200; readonly loginUrl: string }
    | {
        readonly kind: 'form';
        readonly status: 200 | 422;
        readonly form: TokenForm;
        /** The lifetimes to choose from, in days. */
        readonly lifetimes: readonly string[];
        /** A random string, by which the form creates one token only, however often it is posted. */
        readonly once: string;
        readonly problems: readonly FieldError[];
      }
    /** The only page with the value of the token. */
    | { readonly kind: 'created'; readonly status: 200; readonly token: NewPersonalToken }
    /** Ask before a token is revoked. */
    | {
        readonly kind: 'revoke';
        readonly status: 200;
        readonly token: PersonalToken;
        readonly action: string;
      }
  );

/** The form as it was posted. */
interface TokenForm {
  readonly name: string;
  /** In days. */
  readonly lifetime: string;
  readonly api: Api;
  readonly chosen: readonly string[];
}

/** What a path names: the list, the form of a new token, or the revocation of the token with this id. */
type Place = 'list' | 'new' | { readonly id: string };

type Answered = TokenPage | PageRedirect;

/** What the pages need. */
export interface TokenPageParts {
  readonly options: Pick<ResolvedOptions, 'basePath' | 'logger' | 'origin'>;
  readonly ownTokensOf: (ctx: Context, user: User) => Promise<OwnPersonalTokens>;
  readonly path: string;
  readonly sessions: Pick<LoginSessions, 'currentUser' | 'loginUrl'>;
}

/** Makes the pages of personal access tokens. */
export function createTokenPage({
  options,
  ownTokensOf,
  path,
  sessions,
}: TokenPageParts): (ctx: Context) => Promise<PageAnswer<TokenPage | LoggedOutPage>> {
  const home = options.basePath + path;
  const answerUserPage = createAnswerUserPage(options, sessions);

  return answerUserPage<Place, TokenPage>({
    placeOf: (ctx) => placeBelow(path, ctx),
    async answer(ctx, place, user) {
      const isForm = ctx.method === 'POST';
      const page = { user, own: await ownTokensOf(ctx, user), home };
      if (place === 'list') {
        const tokens = await page.own.list();
        return { kind: 'list', status: 200, ...page, tokens, done: queryParameter(ctx, 'done') };
      }
      if (place === 'new') return isForm ? createToken(ctx, page) : askForToken(page);
      return isForm ? revokeToken(place.id, page) : askToRevokeToken(place.id, page);
    },
  });

  /** A user who has not given the password for some minutes is asked for it first. */
  async function askForToken(page: OfUser): Promise<Answered> {
    const { own } = page;
    const [api] = own.apis;
    if (!own.mayUse) return redirectTo(home);
    if (await own.isLoginFresh()) {
      const form = { name: '', lifetime: '30', api: api!, chosen: [] };
      return showForm(page, { status: 200, form, once: randomUUID(), problems: [] });
    }
    const loginUrl = sessions.loginUrl(newTokenUrl(home), { prompt: 'login' });
    // The browser is not redirected, because a page of the host that does not ask for the password would send it back at once.
    if (isElsewhere(loginUrl, options)) return { kind: 'login', status: 200, ...page, loginUrl };
    return redirectTo(loginUrl);
  }

  /** Only the response shows the value of the token. The same form sent again creates no second token. */
  async function createToken(ctx: Context, page: OfUser): Promise<Answered | LoggedOutPage> {
    const { own } = page;
    const posted = await readForm(ctx);
    const form = readTokenForm(posted, own);
    // The server does not have the API any more.
    if (!form) return redirectTo(home);
    if (!(await own.isLoginFresh()))
      return loggedOut(sessions.loginUrl(newTokenUrl(home), { prompt: 'login' }));
    const once = readOnce(posted);
    try {
      if (!lifetimesFor(own).includes(form.lifetime))
        throw new PersonalTokenInvalidError([fieldError('lifetime', 'not_duration')]);
      const { api, chosen, lifetime, name } = form;
      const token = { name, lifetime: Number(lifetime) * DAY, resource: api.resource, chosen };
      const created = await own.create(token, once);
      if (!created) return redirectTo(`${home}?done=created`);
      return { kind: 'created', status: 200, ...page, token: created };
    } catch (error) {
      if (!(error instanceof PersonalTokenInvalidError)) throw error;
      return showForm(page, { status: 422, form, once, problems: error.fields });
    }
  }

  /** When the token has already ended, redirects to the list. */
  async function askToRevokeToken(id: string, page: OfUser): Promise<Answered> {
    const token = (await page.own.list()).find((one) => one.id === id);
    if (!token) return redirectTo(home);
    return { kind: 'revoke', status: 200, ...page, token, action: revokeUrl(home, token) };
  }

  /** This succeeds also when the token has already ended. */
  async function revokeToken(id: string, { own }: OfUser): Promise<Answered> {
    await own.revoke(id);
    return redirectTo(`${home}?done=revoked`);
  }
}

/** URL of the form of a new token. */
export function newTokenUrl(home: string): string {
  return `${home}/new`;
}

/** URL of the page that asks before a token is revoked, and of its form. */
export function revokeUrl(home: string, { id }: Pick<PersonalToken, 'id'>): string {
  return `${home}/${encodeURIComponent(id)}/revoke`;
}

function placeBelow(own: string, { method, path }: Context): Place | undefined {
  const rest = restBelow(own, path);
  if (rest === '') return method === 'POST' ? undefined : 'list';
  if (rest?.toLowerCase() === '/new') return 'new';
  const [, id] = /^\/([^/]+)\/revoke$/i.exec(rest ?? '') ?? [];
  return id === undefined ? undefined : { id: decoded(id) };
}

/** The name of the field of a choice, whose value is the name of the choice. */
export function accessField(apiIndex: number, choiceIndex: number): string {
  return `access${apiIndex}-${choiceIndex}`;
}

/** What is checked at another API than the chosen one is ignored. `undefined`: the API does not exist. */
function readTokenForm(
  posted: Readonly<Record<string, string>>,
  { apis }: OwnPersonalTokens,
): TokenForm | undefined {
  const at = apis.findIndex(({ resource = '' }) => resource === (posted['api'] ?? ''));
  const api = apis[at];
  return (
    api && {
      name: (posted['name'] ?? '').trim(),
      lifetime: posted['lifetime'] ?? '',
      api,
      chosen: api.choices.flatMap(({ name }, index) =>
        posted[accessField(at, index)] === name ? [name] : [],
      ),
    }
  );
}

function showForm(
  page: OfUser,
  rest: Pick<Extract<TokenPage, { kind: 'form' }>, 'form' | 'once' | 'problems' | 'status'>,
): TokenPage {
  return { kind: 'form', ...page, lifetimes: lifetimesFor(page.own), ...rest };
}

/** The lifetimes to choose from, in days. */
function lifetimesFor({ maxLifetime }: OwnPersonalTokens): readonly string[] {
  const most = Math.floor(maxLifetime / DAY);
  return [7, 30, 90, 180, 365]
    .filter((days) => days < most)
    .concat(most)
    .map(String);
}
