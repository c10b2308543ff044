import type { Context } from 'koa';
import type { Configuration, Provider } from 'oidc-provider';

import type { Client, Gate, Interactions, Logger, Storage, User, UserStore } from '../contracts/index.ts';
import type { Duration } from '../contracts/duration.ts';
import type { ResolvedThrottling, Throttling } from './throttling-options.ts';

/** What a scope means: a sentence for the consent page, and the permissions a token with it is limited to. */
export interface Scope<P extends string = string> {
  /** Shown on the consent page, such as "See your schools". */
  readonly description: string;
  /** What a token with this scope lets through, of what its user or client holds. Several scopes add up. */
  readonly permissions: readonly P[];
}

/** How long things live. What is left out comes from the preset. */
export interface Lifetimes {
  /** Where the lifetimes come from that are left out. @default 'long' */
  readonly preset?: LifetimePreset;
  /** Of each access token. @default '1 year', preset `short`: '1 hour' */
  readonly accessToken?: Duration;
  /** Of a refresh token that is not used; every refresh starts it anew. @default '1 year', preset `short`: '30 days' */
  readonly refreshToken?: Duration;
  /**
   * How long an authorization can be refreshed, however often: from the consent on. The person authorizes the app again then.
   * @default '5 years', preset `short`: '1 year'
   */
  readonly refreshTokenAbsolute?: Duration;
  /** At most 10 minutes (RFC 6749 section 4.1.2). @default '60 seconds' */
  readonly authorizationCode?: Duration;
  /** Of a login in a browser that is not used; every use starts it anew, to within a hundredth of it. @default '14 days' */
  readonly session?: Duration;
  /** Of a login in a browser, however often it is used. @default '90 days', preset `short`: '30 days' */
  readonly sessionAbsolute?: Duration;
  /** How long a login or consent page stays open. @default '1 hour' */
  readonly interaction?: Duration;
}

/** `long`: a year for access tokens and to refresh. `short`: an hour, and 30 days to refresh. */
export type LifetimePreset = 'long' | 'short';

/** Algorithms that can sign access tokens (RFC 7518, RFC 8037). */
export type SigningAlgorithm = 'ES256' | 'RS256' | 'EdDSA';

/** Whom an access token is for: a user through a client, or a client for itself. */
export type TokenClaimsContext<U extends User = User> = {
  readonly client: Client;
  /** Those of the token. Empty: none limits it, or it may do nothing. */
  readonly scopes: readonly string[];
} & (
  | {
      readonly user: U;
      /** The authorization that it comes from, the claim `grant_id`. */
      readonly grantId: string;
    }
  | { readonly user: undefined; readonly grantId: undefined }
);

/** Gives the claims to add to a token, at once or later; `undefined`: none. */
export type TokenClaims<U extends User = User> = (
  context: TokenClaimsContext<U>,
) => Readonly<Record<string, unknown>> | undefined | Promise<Readonly<Record<string, unknown>> | undefined>;

/** What `createAuthServer()` takes. Checked once at start; every mistake is a `ConfigError` that names the option. */
export interface AuthServerOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
  S extends object = object,
> {
  /**
   * The server's identity and base URL (RFC 8414 section 2), such as `https://platform.example`. All URLs that the
   * server gives out start with it, whatever the `Host` header says. `http` is for loopback addresses only.
   */
  readonly issuer: string;
  /**
   * Where the server's paths begin in this app. Set it to `'/'` when a proxy removes the issuer's path.
   * @default the issuer's path
   */
  readonly mountPath?: string;
  /** The people: your user table behind two to four methods. */
  readonly users: UserStore<U>;
  /** Who is logged in by the host's own session. With it, people who are logged in already see no login page. */
  readonly currentUser?: (ctx: Context) => NoInfer<U> | undefined | Promise<NoInfer<U> | undefined>;
  /**
   * Ends the host's own session, such as `(ctx) => { ctx.session = null; }`. It is called when a user signs out at
   * `/oauth/logout`, after the login session of this server has ended. Without it, that page says that the user is still signed
   * in to the host.
   */
  readonly signOut?: (ctx: Context) => void | Promise<void>;
  /**
   * The host's own login page, a path or URL; people come with `?return_to=`. Needs `currentUser`, which tells who has logged
   * in there.
   * @default the bundled login page
   */
  readonly loginUrl?: string;
  /**
   * Where developers register and manage apps, below the issuer's path. It is there when the gate has the permission
   * `manage_apps`; who holds `manage_all_apps` too sees everybody's. `false`: nowhere.
   * @default '/developer/apps'
   */
  readonly developerPath?: string | false;
  /**
   * What people may not call their apps, besides the brand of the pages, such as the names of your own apps: neither this nor
   * what looks like it. Who holds `manage_all_apps` may. @default []
   */
  readonly reservedNames?: readonly string[];
  /** Where people see the apps that they have authorized, and disconnect them. `false`: nowhere. @default '/account/apps' */
  readonly accountPath?: string | false;
  /** `knexStorage(knex)`, or `memoryStorage()` for tests and first steps. */
  readonly storage: Storage;
  /**
   * Whether to run `storage.migrate()` at start when migrations are pending; several nodes may do so at once. Without it,
   * `createAuthServer()` throws `MigrationsPendingError` then. @default false
   */
  readonly migrate?: boolean;
  /**
   * The pages: `pages()` of `koa-gatehouse/interactions`, or your own.
   * @default `pages()`, with the issuer's host as the brand
   */
  readonly interactions?: Interactions;
  /**
   * The permissions, roles and rules: `defineGate({ permissions, roles, rules })`.
   * @default a gate without permissions
   */
  readonly gate?: Gate<P, R, S>;
  /** The scopes that clients may ask for, by name (RFC 6749 section 3.3). @default none */
  readonly scopes?: Readonly<Record<string, Scope<NoInfer<P>>>>;
  /** A preset's name, or single lifetimes. @default 'long' */
  readonly lifetimes?: LifetimePreset | Lifetimes;
  /**
   * Whether every client has to use PKCE (RFC 7636). Left out, those have to that keep no secret; others may, and are held to
   * it once they have begun. @default false
   */
  readonly requirePkce?: boolean;
  /**
   * Adds claims of your own to access tokens, such as a tenant, for APIs that read tokens themselves. Called for each access token
   * of the token endpoint and of `auth.issueToken()`; what it throws, the client gets as `server_error`, and no token. Small, because
   * every request carries them, and no secret: a client can read its token. The names of RFC 7519, RFC 9068, RFC 7662 and of this
   * server are refused with a `ConfigError` that names them; `roles`, `groups` and `entitlements` (RFC 9068 section 2.2.3.1) are yours.
   *
   *     tokenClaims: ({ user }) => ({ tenant: user?.tenant })
   *
   * @default no claims but the server's
   */
  readonly tokenClaims?: TokenClaims<NoInfer<U>>;
  /** What access tokens are signed with. @default 'ES256' */
  readonly signingAlgorithm?: SigningAlgorithm;
  /**
   * Keys that sign the server's cookies, newest first, the same on every node: random strings of at least 32 characters.
   * @default one made on first start and kept in the storage
   */
  readonly cookieKeys?: readonly string[];
  /**
   * Encrypts the server's own keys in the storage: a random string of at least 32 characters that is not in the
   * database. To change it give the new one and, behind it, the old one. `false`: the keys are stored as they are, and whoever
   * reads the database can make any token. With `NODE_ENV=production` and a storage that is `durable`, it is one or the other.
   * @default the keys are stored as they are, but for production
   */
  readonly keyEncryptionKey?: string | readonly string[] | false;
  /** How long a revocation on one node may take to reach the others. At least one second. @default '5 seconds' */
  readonly revocationLag?: Duration;
  /**
   * How long a refresh token that was used gets the same new refresh token again, so that two tabs, or a retry after a crash
   * or a failover, do not log a person out. It ends as soon as the new one is used. `0` turns it off. @default '60 seconds'
   */
  readonly refreshGrace?: Duration;
  /** How often a new signing key takes over, on whatever node comes first. `0`: only by `auth.keys.rotate()`. @default '90 days' */
  readonly keyRotation?: Duration;
  /** How often expired rows are removed. `0`: only by `auth.prune()` or the command line. @default '1 hour' */
  readonly pruneInterval?: Duration;
  /** How long events are kept for `auth.audit`. `0`: they are not, and `auth.events` tells them still. @default '90 days' */
  readonly auditRetention?: Duration;
  /**
   * How many requests to the server's own endpoints and pages and to the API may run at once, from when they arrive until they
   * are answered. Those that come on top are answered with 503 and `Retry-After` at once, instead of filling the memory while the storage is slow. `0`: any number.
   * @default 1000
   */
  readonly maxRequests?: number;
  /**
   * How long the body of a request may take to arrive. Who is slower is answered with 408, and when `maxRequests` are running
   * after a second already: who sends slowly keeps nobody out. At least one second. @default '30 seconds'
   */
  readonly bodyTimeout?: Duration;
  /**
   * In bytes: how large the bodies of all requests that are running may be together. Only those above 64 KiB count, such as
   * bulks; over the limit they are answered with 503 and `Retry-After`, and one that is larger by itself with 413. `0`: any
   * size. @default 33554432
   */
  readonly maxBodyBytes?: number;
  /**
   * How often people and clients may guess. `false`: as often as they like, for hosts that see to it in front of the app.
   * @default the limits that are documented at each member
   */
  readonly throttling?: Throttling | false;
  /**
   * For `callback()`: take the last address of `X-Forwarded-For`, which the proxy in front has written, for the client's.
   * In your own app set `app.proxy`, and `app.maxIpsCount` to the number of your proxies. @default false
   */
  readonly trustProxy?: boolean;
  /** A pino-shaped logger. @default warnings and errors on stderr */
  readonly logger?: Logger;
  /**
   * The one escape hatch: receives the configuration of the engine, `oidc-provider`, and returns the one to use. It is
   * called again whenever the signing keys change. The claims that the guard needs are in every token, whatever its
   * `extraTokenClaims` gives; for claims of your own there is `tokenClaims`.
   */
  readonly configure?: (configuration: Configuration) => Configuration;
  /**
   * Called with each engine that is made: at start, and again whenever the signing keys change. What you do to `auth.provider`
   * by yourself, such as listeners and grant types of your own, is lost with the engine that it was done to.
   */
  readonly engine?: (provider: Provider) => void;
}

/** The options, checked and complete. Later code has no defaults of its own. */
export interface ResolvedOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
> extends Readonly<
  Required<
    Pick<
      AuthServerOptions<P, R, U>,
      'users' | 'storage' | 'migrate' | 'gate' | 'requirePkce' | 'signingAlgorithm' | 'trustProxy' | 'logger'
    >
  >
> {
  readonly issuer: string;
  readonly origin: string;
  /** The issuer's path without a trailing slash, in front of every path given out: `''` or `/auth`. */
  readonly basePath: string;
  /** What is removed from the path of a request. */
  readonly mountPath: string;
  readonly secure: boolean;
  /** `undefined`: the bundled pages. */
  readonly interactions: Interactions | undefined;
  readonly currentUser: AuthServerOptions<P, R, U>['currentUser'];
  readonly signOut: AuthServerOptions<P, R, U>['signOut'];
  /** Called with users of `users` only. */
  readonly tokenClaims: TokenClaims | undefined;
  readonly loginUrl: string | undefined;
  readonly developerPath: string | undefined;
  readonly reservedNames: readonly string[];
  readonly accountPath: string | undefined;
  readonly scopes: ReadonlyMap<string, Scope<P>>;
  /** In seconds. */
  readonly lifetimes: Readonly<Record<keyof Omit<Lifetimes, 'preset'>, number>>;
  readonly cookieKeys: readonly string[] | undefined;
  /** Newest first; none: the keys are stored as they are. */
  readonly keyEncryptionKeys: readonly string[];
  readonly revocationLag: number;
  readonly refreshGrace: number;
  readonly keyRotation: number;
  readonly pruneInterval: number;
  readonly auditRetention: number;
  readonly maxRequests: number;
  /** In seconds. */
  readonly bodyTimeout: number;
  readonly maxBodyBytes: number;
  readonly throttling: ResolvedThrottling;
  readonly configure: (configuration: Configuration) => Configuration;
  readonly engine: ((provider: Provider) => void) | undefined;
}
