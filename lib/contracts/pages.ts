import type { Context, Middleware } from 'koa';

import type { AuditQuery, AuditRecord } from './audit.ts';
import type { Client, ClientChanges, ClientFields, ClientQuery, ClientSecret, NewSecret } from './clients.ts';
import type { User } from './people.ts';

/** An open login or consent, as a page sees it. */
export interface Interaction {
  /** Its id, which is in the URL of the page. */
  readonly uid: string;
  /** Which page is to be shown. */
  readonly prompt: 'login' | 'consent';
  /** The app that asks. */
  readonly client: Client;
  /** Who is logged in; `undefined` on the login page of a browser that nobody is logged in on. */
  readonly user: User | undefined;
  /** The requested scopes in words; where the app named none, those that it is registered with. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /**
   * Whether the app gets no more than these scopes. `false`: it gets all that the user may do. With `true` and no scopes, it
   * may do nothing but learn who the user is.
   */
  readonly limited: boolean;
  /** Where the browser goes afterwards. */
  readonly redirectUri: string;
  /** The login that the client has guessed: `login_hint` (OpenID Connect Core 1.0 section 3.1.2.1). */
  readonly loginHint: string | undefined;
  /** The languages that the client asks for, the best first: `ui_locales` (OpenID Connect Core 1.0 section 3.1.2.1). */
  readonly uiLocales: readonly string[] | undefined;
  /** Where the page's form posts to. */
  readonly action: string;
  /** Whether "Not you?" can be offered: `false` when the host's own session decides who is logged in. */
  readonly canSwitchUser: boolean;
}

/** What pages may ask of the server. Each step of an interaction resolves to the URL to redirect to with 303. */
export interface InteractionFlow {
  /** The server's origin, such as `https://platform.example`: from the issuer, never from the `Host` header. */
  readonly origin: string;
  /** The path in front of the server's own paths: the issuer's, or `''`. */
  readonly basePath: string;
  /**
   * The interaction of this browser and this URL.
   * @throws InteractionExpiredError when there is none, as every step of it
   */
  find(ctx: Context, uid: string): Promise<Interaction>;
  /**
   * Asks the user store. `undefined`: unknown or wrong.
   * @throws TooManyAttemptsError without asking, when too many logins have failed; show it with 429 and `Retry-After`
   */
  authenticate(ctx: Context, login: string, password: string): Promise<User | undefined>;
  /** Ends the login with this user. */
  login(ctx: Context, interaction: Interaction, user: User): Promise<string>;
  /** Remembers the consent and goes on. */
  consent(ctx: Context, interaction: Interaction): Promise<string>;
  /** Goes back to the client with `access_denied`. */
  deny(ctx: Context, interaction: Interaction): Promise<string>;
  /** "Not you?": starts the same request again with the login page. */
  switchUser(ctx: Context, interaction: Interaction): Promise<string>;
  /** When the host knows who is logged in, the login page is not needed: resolves to where to go instead of showing it. */
  skipLogin(ctx: Context, interaction: Interaction): Promise<string | undefined>;
  /** Who is logged in on this browser. */
  currentUser(ctx: Context): Promise<User | undefined>;
  /**
   * Where people log in who are not in the middle of an authorization, and come back to `returnTo` from: the host's own
   * page or `/oauth/login`. `returnTo` is a path of this server.
   */
  loginUrl(returnTo: string): string;
  /**
   * A path that somebody asked to be sent to, such as that of `?return_to=`, as it can be redirected to; `undefined` for
   * one that leads to another server.
   */
  pathHere(path: string): string | undefined;
  /** Logs a user in on this browser, outside an authorization. The session gets a new id. */
  signIn(ctx: Context, user: User): Promise<void>;
  /**
   * Ends the login session, in the storage and in the browser, and calls the host's `signOut`. Resolves to whether the host's own
   * session continues, because there is no `signOut`.
   */
  logout(ctx: Context): Promise<{ readonly hostSessionContinues: boolean }>;
  /** Path of the developer area below {@link InteractionFlow.basePath}; `undefined` when there is none. */
  readonly developerPath: string | undefined;
  /** Path of people's connected apps; `undefined` when there is none. */
  readonly accountPath: string | undefined;
  /** The developer area, as the given user may use it. @throws PermissionMissingError for one who may not */
  developer(ctx: Context, user: User): Promise<Developer>;
  /** The apps that the given user has authorized. */
  authorizedApps(ctx: Context, user: User): AuthorizedApps;
}

/**
 * What a person may do in the developer area. Every method looks at who owns the app: an app of somebody else is not
 * there (`ERR_CLIENT_NOT_FOUND`), unless the person administers all apps.
 */
export interface Developer {
  readonly user: User;
  /** Whether the person sees every app: holds `manage_all_apps`. */
  readonly administrator: boolean;
  /** Every role of the gate, with its permissions in words. A person may give an app what they hold themselves. */
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
  /** Every scope that an app may ask people for. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** The person's apps, by name; of an administrator everybody's. Empty behind an app (`after`) that is not there. */
  list(query?: Omit<ClientQuery, 'ownerId'>): Promise<readonly Client[]>;
  /** Finds an app by its `client_id`. */
  find(id: string): Promise<Client>;
  /** Who owns an app; `undefined` when nobody does, or they are gone. */
  owner(client: Client): Promise<User | undefined>;
  /**
   * Registers an app that belongs to the person: 100 at most, but for administrators.
   *
   * @param once - a random string of the form that asked for it: whatever the number of posts, one app is made
   * @returns `undefined` when an earlier post made it, or is about to
   * @throws ClientInvalidError with one entry per mistake, also for what the person may not give, and, but for
   * administrators, for a name that can be mistaken for the platform's own
   */
  create(
    fields: Omit<ClientFields, 'ownerId' | 'lifetimes'>,
    once: string,
  ): Promise<{ client: Client; secret: NewSecret | undefined } | undefined>;
  /**
   * Changes the given fields. Roles and permissions that the app has and the person may not give stay as they are. Of a
   * first-party app only an administrator changes the name, the redirect URIs and the kind, or adds scopes.
   *
   * @param options.ifUpdatedAt - in seconds since 1970: changes nothing unless the app was last updated then, as when the
   * person saw it
   * @throws ClientInvalidError as `create`
   * @throws ClientChangedError when somebody has changed the app since `ifUpdatedAt`
   */
  update(
    id: string,
    changes: Omit<ClientChanges, 'ownerId' | 'lifetimes'>,
    options?: { ifUpdatedAt?: number | undefined },
  ): Promise<Client>;
  /** Stops an app and its tokens until it is enabled again. */
  disable(id: string): Promise<Client>;
  /** Whether the person may enable an app again: an owner, only what they disabled themselves. */
  canEnable(id: string): Promise<boolean>;
  /**
   * Takes `disable()` back.
   * @throws PermissionMissingError when somebody else disabled it
   */
  enable(id: string): Promise<Client>;
  /** Deletes an app with its secrets and all that people have agreed to. `false`: somebody else was first. */
  delete(id: string): Promise<boolean>;
  /**
   * Revokes every token of an app, its own and those of the people who use it, for good: when a secret has leaked. Delete
   * the secret first, because whoever has it gets new tokens.
   */
  revokeTokens(id: string): Promise<void>;
  /**
   * The permissions that an app which acts for itself has at this moment: of those that it was given, the ones that its owner
   * holds too; without an owner, all of them.
   */
  effective(client: Client): Promise<ReadonlySet<string>>;
  /** The app's secrets, oldest first and expired ones too; values are not kept. */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /**
   * Adds a secret beside those that are there.
   *
   * @param options.expiresAt - in seconds since 1970. `undefined`: it does not expire
   * @param once - as for `create`
   * @returns `undefined` when an earlier post made it, or is about to
   * @throws ClientInvalidError for a public app, too long a label, or too many secrets
   */
  addSecret(
    id: string,
    options: { label: string; expiresAt: number | undefined },
    once: string,
  ): Promise<NewSecret | undefined>;
  /** Deletes a secret, which stops at once. `false`: the app has no such secret. */
  deleteSecret(id: string, secretId: string): Promise<boolean>;
  /** What happened at an app, newest first. Of people it tells their ids only, unless the person administers all apps. */
  activity(id: string, query?: Pick<AuditQuery, 'before' | 'limit'>): Promise<readonly AuditRecord[]>;
}

/** An app that a person has authorized. Times are in seconds since 1970. */
export interface AuthorizedApp {
  readonly client: Client;
  /** What it may do, in words. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** `false`: it may do everything that the person may do. With `true` and no scopes, nothing. */
  readonly limited: boolean;
  /** Since when. */
  readonly createdAt: number;
  /** To the hour; `undefined` when it was never used. */
  readonly lastUsedAt: number | undefined;
}

/** The apps that a person has authorized. */
export interface AuthorizedApps {
  /** All of them, the one that was authorized first in front. */
  list(): Promise<readonly AuthorizedApp[]>;
  /** Takes back the consent and revokes every token of the app for this person, at once. `false`: there was none. */
  disconnect(clientId: string): Promise<boolean>;
}

/** What the error page has to say. */
export interface PageError {
  /** The HTTP status to answer with, 400 or more. */
  readonly status: number;
  /** The OAuth error code, such as `invalid_redirect_uri`; or `interaction_expired` or `too_many_attempts`, which are ours. */
  readonly error: string;
  /** For a developer; plain text. */
  readonly description: string;
  /** The id of the request: finds the line in the log. `requestIdOf(ctx)`. */
  readonly reference: string;
}

/** Every page a person sees, mounted by `auth.middleware()`. */
export interface Pages {
  /**
   * Answers below `/oauth/interaction`, `/oauth/login`, `/oauth/logout`, `/oauth/assets`, the developer area and the
   * connected apps; anything else falls through.
   *
   * What it throws is shown by `error()`: with its own status when the caller is at fault, as errors of `ctx.throw(400)` and
   * of this package say they are; else with 500, and a line in the log.
   */
  readonly middleware: Middleware;
  /** What the pages call the platform: nobody but administrators gives an app this name, or one that looks like it. */
  readonly brand?: string | undefined;
  /** Shows an error to a person, with the given status. */
  error(ctx: Context, error: PageError): Promise<void>;
}

/** Makes the pages. `pages()` of `koa-gatehouse/interactions` is the one that is bundled. */
export type Interactions = (flow: InteractionFlow) => Pages;
