import type { Context, Middleware } from 'koa';

import type { AppGrant, AuthorizedApp, NamedResource } from './authorized-apps.ts';
import type { FlowParts } from './bundled-pages.ts';
import type { Client } from './clients.ts';
import type { Seconds } from './duration.ts';
import type { User } from './people.ts';
import type { UserSession } from './user-data.ts';

/** A scope that a page asks the user for. */
export interface InteractionScope {
  readonly name: string;
  readonly description: string;
  /** Whether it is about who the user is, such as `email`: it tells the client who the user is, and permits nothing at the API. */
  readonly aboutUser: boolean;
  /** Whether the user can decline it, with a check box that has its `name` as the value. */
  readonly optional: boolean;
  /** The name of that check box; `undefined`: there is none. */
  readonly field: string | undefined;
  /** Whether that check box begins checked: where the platform vouches for the client, and where there is nothing else to decide. */
  readonly checked: boolean;
  /** Whether the user has consented to it before, so that the page asks for the other scopes only. */
  readonly consented: boolean;
  /** The titles of the tools that agents can call with it, as far as this process serves them; empty at an API without tools. */
  readonly tools: readonly string[];
  /** Whether it changes nothing, as far as that is known: it permits nothing, or only what tools do that read. */
  readonly readOnly: boolean;
}

/** The request was refused, and the log says why. Show it as {@link Pages.error} does. */
export interface RefusedPage extends PageError {
  readonly kind: 'error';
  /** The signed-in user, of a page that only signed-in users have: for its header. */
  readonly user: User | undefined;
  /** A `GatehouseError`, whose `code` says more than the OAuth error code. */
  readonly cause: Error;
}

/**
 * What a page resolves to: something to show, or one of two values that all pages have. `undefined`: the request is for another page, or for
 * none.
 */
export type PageAnswer<Shown> =
  | Shown
  /** Redirect the browser: `ctx.redirect(page.url)`. */
  | { readonly kind: 'redirect'; readonly url: string }
  | RefusedPage
  | undefined;

export type PageRedirect = Extract<PageAnswer<never>, { kind: 'redirect' }>;

/** What is wrong with a login. `login_refused`: the user store does not accept login and password. */
export type LoginProblem = 'login_missing' | 'password_missing' | 'login_refused' | 'too_many_attempts';

/** Show a form that posts the fields `login` and `password`. */
export interface LoginFormWithoutClient {
  readonly kind: 'form';
  readonly status: 200 | 422 | 429;
  /** The URL that the form posts to. */
  readonly action: string;
  /** The login to fill in, as it was typed, or as the client suggests it: `login_hint` (OpenID Connect Core 1.0 section 3.1.2.1). */
  readonly login: string;
  /** Empty before a form was posted. */
  readonly problems: readonly LoginProblem[];
  /** With `too_many_attempts`: when the next attempt is possible. */
  readonly retryAfter: Seconds | undefined;
}

/** The same for a client that asks for the login. */
export interface LoginForm extends LoginFormWithoutClient {
  readonly client: Client;
  /** The redirect URI that the browser is sent to in the end. */
  readonly redirectUri: string;
  /** The languages that the client requests, in order of preference: `ui_locales` (OpenID Connect Core 1.0 section 3.1.2.1). */
  readonly uiLocales: readonly string[] | undefined;
}

/** Ask whether a client may have access. */
export interface ConsentForm {
  readonly kind: 'form';
  readonly status: 200 | 422;
  /**
   * The beginning of three URLs that forms post to: `/consent` with the check boxes, `/deny`, and `/switch` for "Not you?", which shows the
   * login page. In place of the check boxes, a field `access` may have the names of all scopes to grant.
   */
  readonly action: string;
  readonly client: Client;
  /** The user who is logged in. */
  readonly user: User | undefined;
  /** The API that the client asks for; `undefined` for the default, the server's own. */
  readonly resource: NamedResource | undefined;
  /**
   * The requested scopes, to which the client is limited; when it requested none, those that it is registered with. `undefined`: it gets
   * all permissions of the user. An empty list: it only learns who the user is.
   */
  readonly scopes: readonly InteractionScope[] | undefined;
  /** Without `scopes`: the permissions that the user has now, which the client gets. Else empty. */
  readonly permissions: readonly { readonly name: string; readonly description: string }[];
  /** How long the client can use its access at most. */
  readonly lifetime: Seconds;
  /** Whether the consent is remembered: one that leads to a program on the user's device is asked for each time (RFC 8252 section 8.6). */
  readonly remembered: boolean;
  /** The redirect URI that the browser is sent to afterwards. */
  readonly redirectUri: string;
  /** As in {@link LoginForm}. */
  readonly uiLocales: readonly string[] | undefined;
  /** Whether "Not you?" can be offered: `false` when the host's own session decides who is logged in, and there is no `login.logout`. */
  readonly canSwitchUser: boolean;
  /** `nothing_granted`: the user has unchecked all that the client asks for. */
  readonly problems: readonly 'nothing_granted'[];
}

/** Ask whether to end the login session, or say how it ended. */
export type LogoutPage =
  | {
      readonly kind: 'form';
      readonly status: 200;
      /** The URL that the form posts to. */
      readonly action: string;
      readonly user: User;
      /** The app that asks for the logout (OpenID Connect RP-Initiated Logout 1.0); `undefined`: none does, or it does not say which. */
      readonly client: Client | undefined;
      /** The URL of the app that the browser is redirected to afterwards. The page has to say where that leads. */
      readonly next: string | undefined;
    }
  | {
      readonly kind: 'done';
      readonly status: 200;
      /** `still_logged_in`: the host's own session continues, because there is no `login.logout`. */
      readonly result: 'logged_out' | 'not_logged_in' | 'still_logged_in';
      /** URL of the login page. */
      readonly loginUrl: string;
      /** The URL of the app that has asked for the logout: show a link, which names where it leads. */
      readonly next: string | undefined;
    };

/** Show the apps that a user has authorized. Each page is of a signed-in user. */
export type AuthorizedAppsPage =
  | {
      readonly kind: 'list';
      readonly status: 200;
      /** The path of the list. Below it are `/<client id>/revoke` and `/<client id>/grants/<grant id>/revoke`, which ask first. */
      readonly path: string;
      readonly user: User;
      /** At most 50 of those that the user searches for. */
      readonly apps: readonly AuthorizedApp[];
      /** The number of all apps of the user. */
      readonly count: number;
      /** What the user searches for in the names, `?search=`; empty: all apps. */
      readonly search: string;
      readonly isFirst: boolean;
      /** The value of `?after=` of the next page; `undefined` on the last one. */
      readonly next: string | undefined;
      /** What the user has just done. */
      readonly done: 'client_revoked' | 'grant_revoked' | undefined;
    }
  /** Ask whether to revoke all of an app, or one of its grants. */
  | {
      readonly kind: 'form';
      readonly status: 200;
      readonly path: string;
      /** The URL that the form posts to. */
      readonly action: string;
      readonly user: User;
      readonly app: AuthorizedApp;
      /** `undefined`: the app. */
      readonly grant: AppGrant | undefined;
    }
  /** A form was posted by a user who is not signed in any more: a link to the login page opens in another tab. */
  | { readonly kind: 'logged_out'; readonly status: 403; readonly loginUrl: string };

export type LoggedOutPage = Extract<AuthorizedAppsPage, { kind: 'logged_out' }>;

/** Show the browsers in which a user is logged in. The page is of a signed-in user. */
export type SessionsPage =
  | {
      readonly kind: 'list';
      readonly status: 200;
      /** The path of the list. Forms post to `/<session id>/end` and `/end-others` below it. */
      readonly path: string;
      readonly user: User;
      /** At most 50, the last used one first. */
      readonly sessions: readonly UserSession[];
      /** Whether the user has more of them. */
      readonly moreSessions: boolean;
      /** The id of that of this browser. Whoever ends it logs out: link to the logout instead. */
      readonly current: string | undefined;
      /** What the user has just done. */
      readonly done: 'ended' | 'ended_others' | undefined;
    }
  | LoggedOutPage;

/**
 * The server, for the pages. Each page is one function, which is called with every request: it reads the URL and the posted form itself, and
 * resolves to one value. The response has the value's status, `Cache-Control: no-store` and `Retry-After` then; the page adds the HTML, or
 * redirects. A posted form of another site is refused.
 */
export interface InteractionFlow {
  /**
   * The login that a client asks for, at `/oauth/interaction/<id>`. It is skipped where the host's session has a user, and elsewhere when the
   * host has a login page of its own.
   *
   * @param user - whom your page has authenticated in another way, such as by a passkey: instead of the form, at any path below
   */
  login(this: void, ctx: Context, user?: User): Promise<PageAnswer<LoginForm>>;
  /**
   * The consent, and "Not you?", at the same URL.
   *
   * @param answer - which your page has read itself: the names of the `optional` scopes that the user grants, or `deny`
   */
  consent(this: void, ctx: Context, answer?: readonly string[] | 'deny'): Promise<PageAnswer<ConsentForm>>;
  /**
   * The login without a client, at `/oauth/login`. It redirects to `?return_to=`, a path of this server, also users who are logged in, unless
   * `?prompt=login` asks them for the password.
   *
   * @param user - as for `login`, at any path
   */
  loginWithoutClient(this: void, ctx: Context, user?: User): Promise<PageAnswer<LoginFormWithoutClient>>;
  /** The logout, at `/oauth/logout`. It ends the session here, and by `login.logout` at the host. */
  logout(this: void, ctx: Context): Promise<PageAnswer<LogoutPage>>;
  /** The apps that the user has authorized, at `paths.account`. It redirects to the login page when no user is signed in. */
  authorizedApps(this: void, ctx: Context): Promise<PageAnswer<AuthorizedAppsPage>>;
  /**
   * The login sessions of the user, at `paths.sessions`. A session that is ended ends the sign-ins at apps to which it has led. It redirects to
   * the login page when no user is signed in.
   */
  sessions(this: void, ctx: Context): Promise<PageAnswer<SessionsPage>>;
  /**
   * The logo of an app, at `/oauth/logos/<client id>/<the client's logo>`, with the media type to serve it as. `undefined`: there is none at
   * this URL.
   */
  logo(
    this: void,
    ctx: Context,
  ): Promise<{ readonly picture: Uint8Array; readonly type: 'image/png' | 'image/jpeg' } | undefined>;
  /** The user who is logged in on this browser. */
  currentUser(this: void, ctx: Context): Promise<User | undefined>;
  /**
   * The URL of the login page outside an authorization: the host's own page or `/oauth/login`. It sends the user to `returnTo`
   * afterwards, a path of this server.
   *
   * @param options.prompt - with `login`, users who are logged in give the password too (OpenID Connect Core 1.0 section 3.1.2.1)
   * @throws GatehouseError `ERR_URL_TOO_LONG`, 414, when the URL would be longer than 8,000 characters
   */
  loginUrl(this: void, returnTo: string, options?: { readonly prompt?: 'login' | undefined }): string;
  /**
   * Checks a login and a password with the user store, for a page that asks for a second factor before it calls `login` or
   * `loginWithoutClient` with the user. Resolves to `undefined` for an unknown login or a wrong password.
   *
   * @throws GatehouseError `ERR_TOO_MANY_ATTEMPTS` without a check, when too many logins have failed; show it with 429 and `Retry-After`
   */
  verifyPassword(this: void, ctx: Context, login: string, password: string): Promise<User | undefined>;
  /** @internal What the bundled pages are made of. */
  readonly parts: FlowParts;
}

/** The content of the error page. */
export interface PageError {
  /** The HTTP status to answer with, 400 or more. */
  readonly status: number;
  /**
   * The OAuth error code, such as `invalid_redirect_uri`; or `interaction_expired` or `too_many_attempts`, which this server
   * adds.
   */
  readonly error: string;
  /** The cause, for a developer; plain text. */
  readonly description: string;
  /** For `invalid_scope`: the scope that the client may not have. It is a stranger's text of at most 100 characters: escape it. */
  readonly scope?: string | undefined;
  /** The id of the request, by which its log lines are found: `requestIdOf(ctx)`. */
  readonly reference: string;
}

/** An authorization response that the browser posts to the client (OAuth 2.0 Form Post Response Mode). */
export interface PostedResponse {
  readonly client: Client;
  /** The redirect URI, to which the form posts. */
  readonly action: string;
  /** The fields of the form, such as `code` and `state`. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The HTML pages of the server, mounted by `auth.middleware()`. */
export interface Pages {
  /**
   * Serves the paths of the {@link InteractionFlow} and what the pages load, such as below `/oauth/assets`; calls `next()` for every
   * other path.
   *
   * `error()` shows the errors that it throws: a client error, such as of `ctx.throw(400)` or of this package, with its own
   * status; every other one with 500, and a line in the log.
   */
  readonly middleware: Middleware;
  /** The platform's name on the pages. Only administrators can give an app this name, or one that looks like it. */
  readonly brand?: string | undefined;
  /** The look of the pages, which the page that describes an API has too. @default a neutral one */
  readonly look?:
    | {
        /** URL of the platform's home page. */
        readonly home: string;
        /** URL of the logo, which says the name of the brand. @default the name itself */
        readonly logo?: string | undefined;
        /** CSS that sets the variables of the bundled stylesheet, such as `--page`, `--text` and `--accent`, light and dark. */
        readonly theme: string;
      }
    | undefined;
  /**
   * The languages besides the first one in which the pages show some of the scopes as the server's options describe them, with the
   * names of the missing labels. The server warns of them at start.
   *
   * @param labels - such as `scope.schools:read`; of a scope of another API than the default, `scope.<its URL> <its name>`
   */
  untranslated?(labels: readonly string[]): ReadonlyMap<string, readonly string[]>;
  /** Shows an error page with the given status. */
  error(ctx: Context, error: PageError): Promise<void>;
  /**
   * Shows a page whose form posts an authorization response, for clients that send `response_mode=form_post`. It must not be cached, and its
   * Content-Security-Policy must not have `form-action`, because the client may redirect. Left out: such requests are refused.
   */
  formPost?(ctx: Context, response: PostedResponse): Promise<void>;
}

/** Creates the pages. `pages()` of `koa-gatehouse/interactions` returns the bundled one. */
export type Interactions = (flow: InteractionFlow) => Pages;
