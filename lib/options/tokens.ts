import { parseDuration } from '../contracts/duration.ts';
import type { Client, Duration, Seconds, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { optional } from './declare.ts';
import type { Check, Given } from './declare.ts';
import { lifetimes } from './lifetimes.ts';
import { duration, fn, integer, oneOf } from './values.ts';

/** Algorithms that can sign access tokens (RFC 7518, RFC 8037). */
export type SigningAlgorithm = 'ES256' | 'RS256' | 'EdDSA';

export const signingAlgorithm: Check<SigningAlgorithm> = oneOf('ES256', 'RS256', 'EdDSA');

// With jose's defaults, APIs fetch the published keys at most every 30 seconds when they do not know a key.
const LEAST_ROTATION_DELAY: Seconds = 30;

/** The delay after which a new signing key signs. */
export const rotationDelay: Check<Duration, Seconds> = (place, given) => {
  const seconds = parseDuration(given);
  if (seconds === undefined || seconds >= LEAST_ROTATION_DELAY)
    return duration(LEAST_ROTATION_DELAY)(place, given);
  throw new ConfigError(
    place,
    `give at least ${LEAST_ROTATION_DELAY} s: APIs elsewhere may not fetch the new key earlier, and refuse its tokens; keys that have leaked are ended at once by signingKeys.revoke() of createAdministration(), or \`gatehouse signing-keys revoke\``,
  );
};

/** The client of a new access token, and its user unless the token is for the client itself. */
export type TokenClaimsContext<U extends User = User> = {
  readonly client: Client;
  /** The scopes of the token. With an empty list, the token has no scopes and permits everything or, for a limited client, nothing. */
  readonly scopes: readonly string[];
} & (
  | {
      readonly user: U;
      /** The id of the grant that the token is issued from: the claim `grant_id`. */
      readonly grantId: string;
    }
  | { readonly user: undefined; readonly grantId: undefined }
);

/** Returns the claims to add to an access token, or a promise of them; `undefined` for none. */
export type TokenClaimsFunction<U extends User = User> = (
  context: TokenClaimsContext<U>,
) => Readonly<Record<string, unknown>> | undefined | Promise<Readonly<Record<string, unknown>> | undefined>;

/** What is in tokens, how long they live, and how they are signed and checked. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is in the type of the result
export function tokens<U extends User>() {
  return {
    /** A preset's name, or single lifetimes. @default 'long' */
    lifetimes: optional(lifetimes, 'long'),
    /**
     * Adds claims of your own to access tokens, such as a tenant, for APIs that read tokens themselves. Called for each access token of
     * the token endpoint and of `auth.issueToken()`. When it throws, no token is issued and the client gets `server_error`; the code or
     * the refresh token can be used again. Introspection returns the claims too. A claim stays in a token until the token expires, so add
     * what rarely changes. Keep the claims small, because every request carries them, and free of secrets, because clients can read their
     * tokens. The claim names of RFC 7519, RFC 9068, RFC 7662 and of this server are refused with a `ConfigError`; `roles`, `groups` and
     * `entitlements` (RFC 9068 section 2.2.3.1) are available.
     *
     *     tokens: { claims: ({ user }) => ({ tenant: user?.tenant }) }
     *
     * @default no additional claims
     */
    claims: optional(fn<TokenClaimsFunction<NoInfer<U>>>()),
    /** The algorithm that signs access tokens. @default 'ES256' */
    algorithm: optional(signingAlgorithm, 'ES256'),
    /**
     * How often one of the nodes creates a new signing key, and with it a new key for cookies, though not more often than every 30 days.
     * Former keys are accepted for as long as a token or a cookie that they signed can be valid. With `0`, only `auth.signingKeys.rotate()`
     * creates keys.
     * @default '90 days'
     */
    keyRotation: optional(duration(0), '90 days'),
    /** How long a revocation on one node may take to reach the others. At least one second. @default '5 seconds' */
    revocationLag: optional(duration(1), '5 seconds'),
    /**
     * How long a used refresh token leads to the current one, so that two tabs, or a retry after a crash or a failover, do not end the
     * user's authorization. The time counts from the token's first use; after it, reuse revokes the grant. With `0`, reuse always revokes
     * the grant. Public clients of an API of `resources` have the `refreshGrace` of that API.
     * @default '60 seconds'
     */
    refreshGrace: optional(duration(0), '60 seconds'),
    /**
     * How many verified access tokens each process keeps, so that the guard does not verify them again; a token takes about 2.7 kB.
     * Choose at least the number of tokens that are in use at a time.
     * @default 10000
     */
    maxCached: optional(integer(1), 10_000),
  };
}

/** What is in tokens, how long they live, and how they are signed and checked. */
export interface TokenOptions<U extends User = User> extends Given<ReturnType<typeof tokens<U>>> {}
