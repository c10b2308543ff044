import type { Context, Middleware } from 'koa';

import type { Client } from './clients.ts';
import type { ClientKinds } from './client-kinds.ts';
import type { ClientSources } from './client-sources.ts';
import type { AuthorizedApps, NamedResource } from './authorized-apps.ts';
import type { User } from './people.ts';

/** An open login or consent, with the data that its page shows. */
export interface Interaction {
  /** Its id, which is in the URL of the page. */
  readonly uid: string;
  /** The page to show. */
  readonly prompt: 'login' | 'consent';
  /** The client of the authorization request. */
  readonly client: Client;
  /** The user who is logged in; `undefined` on the login page of a browser without a login. */
  readonly user: User | undefined;
  /** The API that the client asks for; `undefined` for the default, the server's own. */
  readonly resource: NamedResource | undefined;
  /** The requested scopes; when the client requested none, the scopes that it is registered with. */
  readonly scopes: readonly InteractionScope[];
  /**
   * Whether the client is limited to these scopes. `false`: it gets all permissions of the user. With `true` and no scopes, it
   * only learns who the user is.
   */
  readonly limited: boolean;
  /** The redirect URI that the browser is sent to afterwards. */
  readonly redirectUri: string;
  /** The login that the client suggests: `login_hint` (OpenID Connect Core 1.0 section 3.1.2.1). */
  readonly loginHint: string | undefined;
  /** The languages that the client requests, in order of preference: `ui_locales` (OpenID Connect Core 1.0 section 3.1.2.1). */
  readonly uiLocales: readonly string[] | undefined;
  /** The URL that the page's form posts to. */
  readonly action: string;
  /** Whether "Not you?" can be offered: `false` when the host's own session decides who is logged in. */
  readonly canSwitchUser: boolean;
}

/** A scope of an authorization request, as the consent page shows it. */
export interface InteractionScope {
  readonly name: string;
  readonly description: string;
  /** Whether it is about who the user is, such as `email`: it tells the client who the user is, and permits nothing at the API. */
  readonly aboutUser: boolean;
  /** Whether the user can decline it, by the third parameter of {@link InteractionFlow.consent}. */
  readonly optional: boolean;
  /** Whether the user has consented to it before, so that the page asks for the other scopes only. */
  readonly consented: boolean;
}

/** The bundled pages of a feature, as far as the core knows them: `FeaturePages` has the router that their routes are added to. */
export interface BundledPages {
  /** The EJS of its views, by name, such as `page/part`. */
  readonly views: Readonly<Record<string, string>>;
  /** Its sentences, by name. */
  readonly texts: {
    readonly en: Readonly<Record<string, string>>;
    readonly de: Readonly<Record<string, string>>;
  };
  /** A link in the header of a signed-in user, with the name of its text; `undefined`: this user may not open the page. */
  link?(ctx: Context, user: User): Promise<{ readonly path: string; readonly text: string } | undefined>;
  addRoutes(router: never, basePath: string): void;
}

/** The server, for the pages. Each step of an interaction resolves to the URL to redirect to with 303. */
export interface InteractionFlow {
  /** The server's origin, such as `https://platform.example`: from the issuer, never from the `Host` header. */
  readonly origin: string;
  /** The path in front of the server's own paths: the path of the issuer, or `''`. */
  readonly basePath: string;
  /**
   * Finds the interaction by the `uid` of the URL and the cookie of the browser.
   * @throws InteractionExpiredError when there is none; each of the steps below throws it too
   */
  find(ctx: Context, uid: string): Promise<Interaction>;
  /**
   * Checks a login and a password with the user store. Resolves to `undefined` for an unknown login or a wrong password.
   * @throws TooManyAttemptsError without a check, when too many logins have failed; show it with 429 and `Retry-After`
   */
  authenticate(ctx: Context, login: string, password: string): Promise<User | undefined>;
  /** Completes the login with this user. */
  login(ctx: Context, interaction: Interaction, user: User): Promise<string>;
  /**
   * Stores the consent and continues the authorization.
   *
   * @param chosen - the names of the scopes that the user grants of those that are `optional`. The others are granted in any case.
   * @default all
   * @throws ConsentInvalidError for a scope that was not requested, and when no scope would be left
   */
  consent(ctx: Context, interaction: Interaction, chosen?: readonly string[]): Promise<string>;
  /** Ends the authorization with `access_denied`. */
  deny(ctx: Context, interaction: Interaction): Promise<string>;
  /** "Not you?": starts the same request again with the login page. */
  switchUser(ctx: Context, interaction: Interaction): Promise<string>;
  /**
   * The URL to redirect to instead of showing the login page: the next step when the host's session has a user, or else the
   * host's own login page. `undefined`: show the login page.
   */
  skipLogin(ctx: Context, interaction: Interaction): Promise<string | undefined>;
  /**
   * Writes a line to the log that a page has refused a request, with the reason. Returns the id of the request, by which the page can name the
   * line.
   */
  refused(
    ctx: Context,
    error: Pick<Error, 'message'> & { readonly code: string; readonly status: number },
  ): string;
  /** The user who is logged in on this browser. */
  currentUser(ctx: Context): Promise<User | undefined>;
  /**
   * The URL of the login page outside an authorization: the host's own page or `/oauth/login`. It sends the user to `returnTo`
   * afterwards, a path of this server.
   *
   * @param again - asks users who are logged in for the password too: with the parameter `prompt=login`
   * @throws GatehouseError `ERR_URL_TOO_LONG`, 414, when the URL would be longer than 8,000 characters
   */
  loginUrl(returnTo: string, again?: 'again'): string;
  /**
   * The path of a requested redirect, such as of `?return_to=`, normalized; `undefined` when it leads to another server, or is longer than
   * 8,000 characters.
   */
  pathHere(path: string): string | undefined;
  /** Logs a user in on this browser, outside an authorization. The session gets a new id. */
  signIn(ctx: Context, user: User): Promise<void>;
  /**
   * The user whom `logout` would sign out. That nobody is signed in lasts, where the storage can confirm it.
   *
   * @throws StorageError when that cannot be confirmed
   */
  userToSignOut(ctx: Context): Promise<User | undefined>;
  /**
   * Ends the login session: deletes it from the storage and its cookie from the browser, and calls the host's `login.signOut`. Resolves to
   * whether the host's own session continues, because there is no `login.signOut`.
   */
  logout(ctx: Context): Promise<{ readonly hostSessionContinues: boolean }>;
  readonly clientKinds: ClientKinds;
  readonly clientSources: ClientSources;
  /** The bundled pages of the features. */
  readonly features: readonly BundledPages[];
  /** URL of the API that `createApiRouter()` serves in this process for tokens without `resource`; `undefined` without one. */
  readonly apiUrl: string | undefined;
  /** Path of the page of authorized apps; `undefined` when there is none. */
  readonly accountPath: string | undefined;
  /**
   * Finds the logo of a client by its hash, the client's `logo`, with the media type to serve it as. The bundled pages serve it at
   * `/oauth/logos/<client id>/<hash>`. Resolves to `undefined` when the client has another logo, or none.
   */
  logo(
    clientId: string,
    hash: string,
  ): Promise<{ readonly picture: Uint8Array; readonly type: 'image/png' | 'image/jpeg' } | undefined>;
  /** The apps that the given user has authorized. */
  authorizedApps(ctx: Context, user: User): AuthorizedApps;
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
   * Serves the paths below `/oauth/interaction`, `/oauth/login`, `/oauth/logout`, `/oauth/assets`, `/oauth/logos`, those of
   * {@link InteractionFlow.features} and of the page of authorized apps; calls `next()` for every other path.
   *
   * `error()` shows the errors that it throws: a client error, such as of `ctx.throw(400)` or of this package, with its own
   * status; every other one with 500, and a line in the log.
   */
  readonly middleware: Middleware;
  /** The platform's name on the pages. Only administrators can give an app this name, or one that looks like it. */
  readonly brand?: string | undefined;
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
  post?(ctx: Context, response: PostedResponse): Promise<void>;
}

/** Creates the pages. `pages()` of `koa-gatehouse/interactions` returns the bundled one. */
export type Interactions = (flow: InteractionFlow) => Pages;
