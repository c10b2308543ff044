import type { Duration } from '../contracts/duration.ts';
import type { ClientMetadata } from '../contracts/index.ts';

/** Who may register apps, with which scopes, how many, and for how long they are kept (RFC 7591, RFC 7592). */
export interface DynamicRegistrationOptions {
  /**
   * The scopes that such an app may be registered for, of any API. Further ones that it asks for are left out, and the response
   * says which it got. An app never gets more than these, whatever it changes later.
   */
  readonly scopes: readonly string[];
  /**
   * The scopes of an app that names none when it registers, some of `scopes`. With none, its tokens permit nothing, and it has
   * to register again with scopes. @default []
   */
  readonly defaultScopes?: readonly string[];
  /**
   * Tokens of which a registration has to carry one (RFC 7591 section 3), such as one per partner: random strings of at least 32
   * characters. The server keeps their SHA-256 hashes only. @default none is needed: everyone may register
   */
  readonly initialAccessTokens?: readonly string[];
  /**
   * Decides about each registration and each change, after all other checks. `false` refuses it.
   *
   *     allow: ({ metadata }) => metadata.redirect_uris.every((uri) => new URL(uri).hostname.endsWith('.partner.example'))
   *
   * @default every app is accepted
   */
  readonly allow?: (request: RegistrationRequest) => boolean | Promise<boolean>;
  /** How many such apps may exist at a time, on all nodes together. Further ones get 503. @default 1000 */
  readonly maxClients?: number;
  /**
   * How many apps may be registered from one address in an hour, on all nodes together; for its networks as in the option
   * `throttling`. Further ones get 429 with `Retry-After`. @default 20
   */
  readonly perAddress?: number;
  /**
   * After what time an app is removed that no user has authorized: at least an hour, because a user has to sign in
   * first. @default '1 day'
   */
  readonly unauthorizedAfter?: Duration;
  /**
   * For how long an app is kept that users have authorized, after it last acted for one of them: at least a day. It is kept
   * longer as long as one of its tokens is valid, and removed at the latest after twice this time. The app has to register
   * again after it. Applies to apps that are registered from then on. @default '90 days'
   */
  readonly unusedAfter?: Duration;
}

/** A registration, or a change of one, that is to be decided. */
export interface RegistrationRequest {
  /** The metadata as the server would register it. */
  readonly metadata: ClientMetadata;
  /** All metadata that the app has sent. Unchecked text of a stranger: escape it, and do not fetch its URLs. */
  readonly sent: Readonly<Record<string, unknown>>;
  /** The address of the request: Koa's `ctx.ip`. */
  readonly address: string;
  /** The app that is changed; `undefined` for a new one. */
  readonly clientId: string | undefined;
}

/** The option with its defaults; times in seconds. */
export interface ResolvedRegistration extends Required<
  Omit<
    DynamicRegistrationOptions,
    'allow' | 'defaultScopes' | 'initialAccessTokens' | 'unauthorizedAfter' | 'unusedAfter'
  >
> {
  readonly defaultScopes: readonly string[];
  /** SHA-256, base64url. `undefined`: none is needed. */
  readonly initialAccessTokenHashes: readonly string[] | undefined;
  readonly allow: DynamicRegistrationOptions['allow'];
  readonly unauthorizedAfter: number;
  readonly unusedAfter: number;
}
