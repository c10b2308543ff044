import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import type { Seconds, User } from '../contracts/index.ts';
import { features } from './features.ts';
import { attempts } from './attempts.ts';
import { CLIENTS } from './clients.ts';
import type { ClientOptions } from './clients.ts';
import { object, optional } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { issuerUrl, loginUrl, mountPath, pagePath } from './paths.ts';
import { checkGate, interactions, logger, storage, userStore } from './ports.ts';
import { apis } from './resources.ts';
import { scopes } from './scopes.ts';
import { stderrLogger } from './stderr-logger.ts';
import { tokens } from './tokens.ts';
import type { TokenOptions } from './tokens.ts';
import { boolean, duration, fn, integer, secrets } from './values.ts';

/** The keys, newest first; empty when the server's own keys are stored unencrypted. */
const keyEncryptionKey: Check<string | readonly string[] | false, readonly string[]> = (place, given) =>
  given === false ? [] : secrets(place, [given].flat());

/** The login session of the host, which users then need not repeat here. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is in the type of the result
function login<U extends User>() {
  return {
    /** Returns the user of the host's own login session. Users who are logged in there see no login page. */
    currentUser: optional(fn<(ctx: Context) => NoInfer<U> | undefined | Promise<NoInfer<U> | undefined>>()),
    /**
     * Returns when the user of the host's own login session has given the password, in seconds since 1970. Return `undefined` when that
     * is not known, such as for a login that was remembered. OpenID Connect's `auth_time` and `max_age` depend on this time, and so do
     * pages that need a recent login (`personalTokens()`).
     * @default not known: no `max_age` is met until users have been sent to `url`, and users give the password on a page of this server
     */
    authenticatedAt: optional(fn<(ctx: Context) => Seconds | undefined | Promise<Seconds | undefined>>()),
    /**
     * The host's own login page, a path or URL. Users are redirected to it with `?return_to=`, and with `prompt=login` where it has to
     * ask for the password even a user who is logged in. Requires `currentUser`, from which the server learns who has logged in.
     * @default the bundled login page
     */
    url: optional(loginUrl),
    /**
     * Ends the host's own session, such as `(ctx) => { ctx.session = null; }`. It is called when a user signs out at
     * `/oauth/logout`, after the login session of this server has ended. Without it, that page says that the user is still signed
     * in to the host.
     */
    logout: optional(fn<(ctx: Context) => void | Promise<void>>()),
    /**
     * Returns how a user has logged in, when a login session begins: `(ctx, user) => ({ acr: 'urn:example:mfa', amr: ['pwd', 'otp'] })`.
     * @default apps are not told, and a request for which a certain `acr` is essential is refused
     */
    authenticationContext:
      optional(
        fn<
          (ctx: Context, user: NoInfer<U>) => Authentication | undefined | Promise<Authentication | undefined>
        >(),
      ),
  };
}

/** How a user has logged in. */
export interface Authentication {
  /** The level of assurance: the claim `acr`. */
  readonly acr?: string | undefined;
  /** The methods, such as `pwd` and `otp` (RFC 8176): the claim `amr`. */
  readonly amr?: readonly string[] | undefined;
}

const SECRETS = {
  /**
   * Encrypts the server's own keys in the storage: a random string of at least 32 characters that is not in the database. To replace it,
   * pass a list of the new and the old string. With `false`, the keys are stored unencrypted, and read access to the database is enough
   * to sign tokens. With `NODE_ENV=production` and a `durable` storage, a key or `false` is required.
   * @default the keys are stored unencrypted, except in production
   */
  keyEncryptionKey: optional(keyEncryptionKey),
  /**
   * Keys that sign the server's cookies, newest first, the same on every node: random strings of at least 32 characters.
   * @default generated, stored in the storage, and replaced as `tokens.keyRotation` says
   */
  cookieKeys: optional(secrets),
};

const LIMITS = {
  /**
   * The number of requests to the server's endpoints and pages and to the API that may run at once, from their arrival until their
   * response was sent. Further requests get 503 with `Retry-After` at once, so that a slow storage does not fill the memory. `0` means no
   * limit.
   * @default 1000
   */
  concurrency: optional(integer(1, { zero: 'no limit' }), 1000),
  /**
   * The total size of the bodies of all running requests, in bytes. Only bodies above 64 KiB count, such as those of bulk requests. Over
   * the limit, such a request gets 503 with `Retry-After`; a single body above the limit gets 413. `0` means no limit.
   * @default 33554432
   */
  maxTotalBodyBytes: optional(integer(1, { zero: 'no limit' }), 32 * 2 ** 20),
  /**
   * How long the body of a request may take to arrive before the response is 408, and how long a client may receive nothing of its
   * response before the connection is closed. While `limits.concurrency` requests are running, both times are one second, except for a
   * streamed response, such as that of a bulk, so that slow clients do not use up the limit. At least one second.
   * @default '30 seconds'
   */
  bodyTimeout: optional(duration(1), '30 seconds'),
  /**
   * How often an authorization can be refreshed in an hour, against programs that refresh in a loop. Over the limit, the response is 429
   * with `Retry-After`, and nothing is revoked. Each node counts for itself. The limit is for public clients, for clients that registered
   * themselves, and for unverified clients with an owner, but not for the platform's own clients with a secret or a key. All
   * authorizations of one user for such a client, new ones included, share a limit of ten times this number. `0` means no limit.
   * @default 60, or ten for each access token that expires within the hour, whichever is more
   */
  refreshes: optional(integer(1, { zero: 'no limit' })),
  /**
   * Limits of failed authentications of users and clients; `false` for none, for hosts with limits in front of the app.
   * @default the limits that are documented at each member
   */
  attempts: optional(attempts, {}),
};

const PATHS = {
  /**
   * The path of this app below which the server's paths are. Set it to `'/'` when a proxy or `koa-mount` removes the issuer's path, and
   * mount the API router at the same path.
   * @default the issuer's path
   */
  mount: optional(mountPath),
  /**
   * The path of the page on which users see and disconnect the apps that they have authorized; `false` for no page.
   * @default '/account/apps'
   */
  account: optional(pagePath, '/account/apps'),
  /**
   * The path of the page on which users see the browsers in which they are logged in, and end those logins; `false` for no page. With
   * `login.currentUser` there is none, because the logins are those of your app: `auth.userGrants` has what a page of yours needs.
   * @default '/account/sessions'
   */
  sessions: optional(pagePath, '/account/sessions'),
};

export const RETENTION = {
  /**
   * How long events are stored for `auth.audit`. With `0` they are not stored, but `auth.events` still emits them.
   * @default '90 days'
   */
  audit: optional(duration(0), '90 days'),
  /** How often expired rows are deleted. With `0`, only `auth.prune()` and the command line delete them. @default '1 hour' */
  pruneInterval: optional(duration(0), '1 hour'),
};

/** The login session of the host, which users then need not repeat here. */
export interface LoginOptions<U extends User = User> extends Given<ReturnType<typeof login<U>>> {}

/** The secrets with which the server encrypts and signs, the same on every node. */
export interface SecretOptions extends Given<typeof SECRETS> {}

/** What requests may use, and how often a login, a secret or a code may be tried. */
export interface LimitOptions extends Given<typeof LIMITS> {}

/** Where the server's paths and pages are. */
export interface PathOptions extends Given<typeof PATHS> {}

/** How long data is kept that is no longer in use. */
export interface RetentionOptions extends Given<typeof RETENTION> {}

/** A group of options whose type has a name, so that the reference shows this name. */
function group<G extends Given<D>, D extends object>(declared: D): Check<G, Values<D>> {
  return object(declared);
}

/** The declarations of the options: each option is a member with its documentation, check and default. */
export function authServerOptions<
  P extends string,
  R extends string,
  U extends User,
  S extends object,
  A extends string,
>() {
  return {
    /**
     * The server's identity and base URL (RFC 8414 section 2), such as `https://platform.example`. All URLs of the server start
     * with it; the `Host` header of requests is not used. `http` is accepted for loopback addresses only.
     */
    issuer: issuerUrl,
    /** The users: your user table as an object with two to four methods. */
    users: userStore<U>,
    /** The storage: `knexStorage(knex)`, `sqlStorage(pool)`, or `memoryStorage()` for tests and first steps. */
    storage: storage,
    /**
     * Whether to run `storage.migrate()` at start when migrations are pending; several nodes may do so at once. When `false`,
     * `createAuthServer()` throws `MigrationsPendingError` instead. @default false
     */
    migrate: optional(boolean, false),
    /**
     * The permissions, roles and rules: `defineGate({ permissions, roles, rules })`.
     * @default a gate without permissions
     */
    gate: optional(checkGate<P, R, S>),
    /** The scopes that clients may request, by name (RFC 6749 section 3.3). @default none */
    scopes: optional(scopes<NoInfer<P>>, {}),
    /**
     * Further APIs, by URL, that clients request tokens for with the parameter `resource` (RFC 8707). Such a token is for this API alone:
     * its `aud` is the URL, it has scopes of this API, and every other API refuses it. Requests without `resource` get tokens for the
     * default API, whose URL is the issuer and whose scopes are the option `scopes`.
     *
     *     resources: { 'https://api.example/v1': { name: 'Documents', scopes: { read: { description, permissions } } } }
     *
     * With this option, `{}` included, the server publishes the metadata of each API (RFC 9728), and the guard's challenges name it and
     * the scopes.
     * @default the default API alone, without metadata
     */
    resources: optional(apis<NoInfer<P>, A>),
    /**
     * The pages: `pages()` of `koa-gatehouse/interactions`, or your own.
     * @default `pages()`, with the issuer's host as the brand
     */
    interactions: optional(interactions),
    /** The login session of the host, which users then need not repeat here. */
    login: optional(group<LoginOptions<U>, ReturnType<typeof login<U>>>(login<U>()), {}),
    /** How apps are registered, and how they prove who they are. */
    clients: optional(group<ClientOptions, typeof CLIENTS>(CLIENTS), {}),
    /** What is in tokens, how long they live, and how they are signed and checked. */
    tokens: optional(group<TokenOptions<U>, ReturnType<typeof tokens<U>>>(tokens<U>()), {}),
    /**
     * Further features of the server: `features: [openid(), personalTokens()]`. Each has options, and may add members to the server.
     * @default none
     */
    features: optional(features, []),
    /** The secrets with which the server encrypts and signs, the same on every node. */
    secrets: optional(group<SecretOptions, typeof SECRETS>(SECRETS), {}),
    /** What requests may use, and how often a login, a secret or a code may be tried. */
    limits: optional(group<LimitOptions, typeof LIMITS>(LIMITS), {}),
    /** Where the server's paths and pages are. */
    paths: optional(group<PathOptions, typeof PATHS>(PATHS), {}),
    /** How long data is kept that is no longer in use. */
    retention: optional(group<RetentionOptions, typeof RETENTION>(RETENTION), {}),
    /**
     * For `callback()`: whether the last address of `X-Forwarded-For`, which the proxy in front has added, is the address of the
     * request. In your own app set `app.proxy`, and `app.maxIpsCount` to the number of your proxies. @default false
     */
    trustProxy: optional(boolean, false),
    /** A logger with the methods of pino. @default warnings and errors on stderr; outside of production also refused requests */
    logger: optional(logger, stderrLogger),
    /**
     * Called with each new `Provider` of oidc-provider: at start, and again whenever the signing keys change. Add listeners and grant types
     * here, because those that are added to `auth.provider` are lost when it is replaced. Middleware finds the body of a request to an endpoint
     * for clients as a form in `ctx.req.body`, not as a stream.
     */
    onProvider: optional(fn<(provider: Provider) => void>()),
  };
}

/**
 * The options of `createAuthServer()`. They are checked once at start; each mistake is a `ConfigError` that names the option.
 */
export interface AuthServerOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
  S extends object = object,
  A extends string = string,
> extends Given<ReturnType<typeof authServerOptions<P, R, U, S, A>>> {}
