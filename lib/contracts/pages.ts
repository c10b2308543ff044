import type { Context, Middleware } from 'koa';

import type { AuditQuery, AuditRecord } from './audit.ts';
import type { Client, ClientChanges, ClientFields, ClientQuery, ClientSecret, NewSecret } from './clients.ts';
import type { User } from './people.ts';

/** An API besides the default, as pages show it. */
export interface NamedResource {
  /** Its URL: the `resource` of requests (RFC 8707). */
  readonly resource: string;
  /** The name that the option `resources` gives it, else its URL. */
  readonly name: string;
}

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
  /** Whether the user can decline it, by the third parameter of {@link InteractionFlow.consent}. */
  readonly optional: boolean;
  /** Whether the user has consented to it before, so that the page asks for the other scopes only. */
  readonly consented: boolean;
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
  /** The user who is logged in on this browser. */
  currentUser(ctx: Context): Promise<User | undefined>;
  /**
   * The URL of the login page outside an authorization: the host's own page or `/oauth/login`. It sends the user to `returnTo`
   * afterwards, a path of this server.
   */
  loginUrl(returnTo: string): string;
  /** The path of a requested redirect, such as of `?return_to=`, normalized; `undefined` when it leads to another server. */
  pathHere(path: string): string | undefined;
  /** Logs a user in on this browser, outside an authorization. The session gets a new id. */
  signIn(ctx: Context, user: User): Promise<void>;
  /**
   * Ends the login session: deletes it from the storage and its cookie from the browser, and calls the host's `signOut`. Resolves to
   * whether the host's own session continues, because there is no `signOut`.
   */
  logout(ctx: Context): Promise<{ readonly hostSessionContinues: boolean }>;
  /** Path of the developer area below {@link InteractionFlow.basePath}; `undefined` when there is none. */
  readonly developerPath: string | undefined;
  /** Path of the page of authorized apps; `undefined` when there is none. */
  readonly accountPath: string | undefined;
  /** The developer area of the given user. @throws PermissionMissingError when the user may not use it */
  developer(ctx: Context, user: User): Promise<Developer>;
  /** The apps that the given user has authorized. */
  authorizedApps(ctx: Context, user: User): AuthorizedApps;
}

/**
 * The developer area of one user. Every method checks the owner of the app: another user's app is not found
 * (`ERR_CLIENT_NOT_FOUND`), unless the user administers all apps.
 */
export interface Developer {
  readonly user: User;
  /** Whether the user sees every app: holds `manage_all_apps`. */
  readonly administrator: boolean;
  /**
   * Every role of the gate, with the descriptions of its permissions. `assignable`: the user holds it and may give it to an
   * app.
   */
  readonly roles: readonly {
    readonly name: string;
    readonly permissions: readonly { readonly name: string; readonly description: string }[];
    readonly assignable: boolean;
  }[];
  /** Every permission of the gate. */
  readonly permissions: readonly {
    readonly name: string;
    readonly description: string;
    readonly assignable: boolean;
  }[];
  /** Every scope that an app may request. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** Lists the user's apps by name; for an administrator, all apps. Empty when the app of `after` does not exist. */
  list(query?: Omit<ClientQuery, 'ownerId'>): Promise<readonly Client[]>;
  /** Finds an app by its `client_id`. */
  find(id: string): Promise<Client>;
  /** The owner of an app; `undefined` when it has none, or the user store does not find the owner. */
  owner(client: Client): Promise<User | undefined>;
  /**
   * Registers an app that the user owns: at most 100 apps, without a limit for administrators.
   *
   * @param once - a random string in the form, by which a form that is posted several times registers one app only
   * @returns `undefined` when an earlier post of the form has registered the app, or is about to
   * @throws ClientInvalidError with one entry per mistake, also for roles and permissions that the user may not give, and,
   * except for administrators, for a name that can be mistaken for the platform's own
   */
  create(
    fields: Omit<ClientFields, 'ownerId' | 'lifetimes'>,
    once: string,
  ): Promise<{ client: Client; secret: NewSecret | undefined } | undefined>;
  /**
   * Changes the given fields. Roles and permissions that the app has and that the user may not give stay unchanged. Only an
   * administrator can change the name, the redirect URIs and the kind of a first-party app, or add scopes to it.
   *
   * @param options.ifUpdatedAt - the `updatedAt` of the app that the user saw, in seconds since 1970: nothing is changed when
   * the app has been updated since
   * @throws ClientInvalidError as `create`
   * @throws ClientChangedError when the app has been changed since `ifUpdatedAt`
   */
  update(
    id: string,
    changes: Omit<ClientChanges, 'ownerId' | 'lifetimes'>,
    options?: { ifUpdatedAt?: number | undefined },
  ): Promise<Client>;
  /** Disables an app: it gets no tokens, and its tokens are refused, until it is enabled again. */
  disable(id: string): Promise<Client>;
  /** Whether the user may enable an app again: an owner only when the owner has disabled it. */
  canEnable(id: string): Promise<boolean>;
  /**
   * Enables a disabled app.
   * @throws PermissionMissingError when another user, or a program, has disabled it and the user is no administrator
   */
  enable(id: string): Promise<Client>;
  /** Deletes an app with its secrets and consents. Resolves to `false` when a concurrent request has deleted it. */
  delete(id: string): Promise<boolean>;
  /**
   * Revokes every token of an app, its own and those of its users, for good: for when a secret has leaked. Delete the secret
   * first, because new tokens are issued for it until then.
   */
  revokeTokens(id: string): Promise<void>;
  /**
   * The effective permissions of an app that acts for itself: those of its assigned permissions that its owner holds too;
   * without an owner, all of them.
   */
  effective(client: Client): Promise<ReadonlySet<string>>;
  /** Lists the app's secrets without their values, oldest first, expired ones included. */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /**
   * Adds a secret; the existing ones stay valid.
   *
   * @param options.expiresAt - in seconds since 1970. `undefined`: it does not expire
   * @param once - as for `create`
   * @returns `undefined` when an earlier post of the form has added the secret, or is about to
   * @throws ClientInvalidError for a public app, a label that is too long, or too many secrets
   */
  addSecret(
    id: string,
    options: { label: string; expiresAt: number | undefined },
    once: string,
  ): Promise<NewSecret | undefined>;
  /** Deletes a secret; requests with it are refused at once. Resolves to `false` when the app has no such secret. */
  deleteSecret(id: string, secretId: string): Promise<boolean>;
  /** Lists the events of an app, newest first. Only administrators see the addresses of the app's users, not just their ids. */
  activity(id: string, query?: Pick<AuditQuery, 'before' | 'limit'>): Promise<readonly AuditRecord[]>;
}

/** An API besides the default, and what an app may do there. */
export interface AuthorizedResource extends NamedResource {
  /** The scopes that the user has consented to, with their descriptions. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** `false`: it has all permissions of the user. With `true` and no scopes, it has none. */
  readonly limited: boolean;
}

/** An app that a user has authorized. Times are in seconds since 1970. */
export interface AuthorizedApp {
  readonly client: Client;
  /** The scopes that the user has consented to, with their descriptions: those of the default API, the server's own. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** `false`: it has all permissions of the user at the default API. With `true` and no scopes, it has none. */
  readonly limited: boolean;
  /** What the user has consented to at other APIs: see the option `resources`. */
  readonly resources: readonly AuthorizedResource[];
  /** When the user first consented. */
  readonly createdAt: number;
  /** To the hour; `undefined` when it was never used. */
  readonly lastUsedAt: number | undefined;
}

/** The apps that a user has authorized. */
export interface AuthorizedApps {
  /** Lists them in the order in which they were authorized. */
  list(): Promise<readonly AuthorizedApp[]>;
  /** Withdraws the consent and revokes every token of the app for this user. Resolves to `false` when there was no consent. */
  disconnect(clientId: string): Promise<boolean>;
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
  /** The id of the request, by which its log lines are found: `requestIdOf(ctx)`. */
  readonly reference: string;
}

/** The HTML pages of the server, mounted by `auth.middleware()`. */
export interface Pages {
  /**
   * Serves the paths below `/oauth/interaction`, `/oauth/login`, `/oauth/logout`, `/oauth/assets`, the developer area and the
   * page of authorized apps; calls `next()` for every other path.
   *
   * `error()` shows the errors that it throws: a client error, such as of `ctx.throw(400)` or of this package, with its own
   * status; every other one with 500, and a line in the log.
   */
  readonly middleware: Middleware;
  /** The platform's name on the pages. Only administrators can give an app this name, or one that looks like it. */
  readonly brand?: string | undefined;
  /** Shows an error page with the given status. */
  error(ctx: Context, error: PageError): Promise<void>;
}

/** Creates the pages. `pages()` of `koa-gatehouse/interactions` returns the bundled one. */
export type Interactions = (flow: InteractionFlow) => Pages;
