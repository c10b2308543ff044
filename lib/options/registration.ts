// `hash` through the default export, as in lib/keys/hash.ts.
import crypto from 'node:crypto';

import type { ClientMetadata } from '../contracts/index.ts';
import { object, optional } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { scopeNames } from './scopes.ts';
import { duration, fn, integer, secrets } from './values.ts';

/** The SHA-256 hashes of secrets, base64url. */
const hashes: Check<readonly string[]> = (place, given) =>
  secrets(place, given).map((secret) => crypto.hash('sha256', secret, 'base64url'));

const REGISTRATION = {
  /**
   * The scopes that such an app may be registered for, of any API. Further ones that it asks for are left out, and the response
   * says which it got. An app never gets more than these, whatever it changes later.
   */
  scopes: scopeNames,
  /**
   * The scopes of an app that names none of `scopes` when it registers, some of `scopes`. With none, an app that names no scope gets
   * tokens that permit nothing, and one that names others is refused. @default []
   */
  defaultScopes: optional(scopeNames, []),
  /**
   * Tokens of which a registration has to carry one (RFC 7591 section 3), such as one per partner: random strings of at least 32
   * characters. The server keeps their SHA-256 hashes only. @default none is needed: everyone may register
   */
  initialAccessTokens: optional(hashes),
  /**
   * Decides about each registration and each change, after all other checks. `false` refuses it.
   *
   *     allow: ({ metadata }) => metadata.redirect_uris.every((uri) => new URL(uri).hostname.endsWith('.partner.example'))
   *
   * @default every app is accepted
   */
  allow: optional(fn<(request: RegistrationRequest) => boolean | Promise<boolean>>()),
  /**
   * How many such apps may exist at a time, on all nodes together. A further one takes the place of an app that no user has
   * authorized, or one user alone who has more than five of them or has not used it for 30 days; if there is none, it gets 503.
   *
   * @default 1000
   */
  maxClients: optional(integer(1), 1000),
  /**
   * How many apps may be registered from one address in an hour, on all nodes together; for its networks as in the option
   * `limits.attempts`. Further ones get 429 with `Retry-After`. A public app that is registered again from its address before a user
   * has authorized it, with the same name and redirect URIs, gets the same `client_id` and does not count.
   *
   * @default 100
   */
  perAddress: optional(integer(1), 100),
  /**
   * After what time an app is removed that no user has authorized: at least an hour, because a user has to sign in
   * first. @default '1 day'
   */
  unauthorizedAfter: optional(duration(3600), '1 day'),
  /**
   * For how long an app is kept that users have authorized, after it last acted for one of them: at least a day. It is kept
   * longer as long as one of its tokens is valid, and removed at the latest after twice this time. The app has to register
   * again after it. Applies to apps that are registered from then on. @default '90 days'
   */
  unusedAfter: optional(duration(86_400), '90 days'),
};

/** Who may register apps, with which scopes, how many, and for how long they are kept (RFC 7591, RFC 7592). */
export interface DynamicRegistrationOptions extends Given<typeof REGISTRATION> {}

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

/** The option with its defaults; times in seconds. Of `initialAccessTokens`, the hashes. */
export type ResolvedRegistration = Values<typeof REGISTRATION>;

export const registration: Check<DynamicRegistrationOptions, ResolvedRegistration> = object(REGISTRATION);
