import type { Grant, Seconds, User } from '../../contracts/index.ts';

/** The grant type of a token request with an assertion (RFC 7523 section 2.1). */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The claims of an assertion whose signature was verified. */
export type AssertionClaims = Readonly<Record<string, unknown>> & {
  readonly iss: string;
  readonly sub: string;
  readonly exp: Seconds;
};

/** Finds the user of an assertion, or creates one. `undefined`: the issuer's user has no account here. */
export type FindAssertedUser = (
  claims: AssertionClaims,
  by: { readonly issuer: string },
) => User | undefined | Promise<User | undefined>;

/** What an issuer has allowed a client for a user. It leads to a grant of the core, which users and hosts end as any other. */
export interface AllowedGrant {
  /** A hash of the issuer, its tenant, its `sub`, the client and the user. */
  readonly id: string;
  readonly issuer: string;
  readonly userId: string;
  readonly clientId: string;
  readonly grantId: string;
  /** The scopes that tokens have had, by API; the default API has an empty name. */
  readonly access: Readonly<Record<string, readonly string[]>>;
  readonly createdAt: Seconds;
}

/** The same, with the state of its grant. */
export interface FoundGrant extends AllowedGrant {
  /**
   * `ended`: somebody has revoked it, and it stays so until `forget()`. `over`: its user, its client or all were ended, after which another
   * assertion begins it anew.
   */
  readonly state: 'live' | 'ended' | 'over';
  readonly lastUsedAt: Seconds | undefined;
}

/** An assertion that was used. */
export interface UsedAssertion {
  /** A hash of the issuer and the `jti`. */
  readonly id: string;
  /** A hash of the whole assertion. */
  readonly digest: string;
  /** `undefined`: it is a client's for itself. */
  readonly grantId: string | undefined;
  /** The `StoredClient.sequence` of the client. */
  readonly sequence: number;
  /** By this node's clock, as `expiresAt`. Both are converted where the storage's clock differs. */
  readonly usedAt: Seconds;
  /** Until when it is stored, after which it has expired. */
  readonly expiresAt: Seconds;
}

/** The result of {@link AllowedGrantStore.findUse}. */
export interface FoundUse extends Pick<UsedAssertion, 'digest' | 'grantId' | 'sequence'> {
  /** For how long it has been used, by the clock of the storage, which all nodes share. */
  readonly usedFor: Seconds;
}

/** Stores what issuers have allowed, and which assertions were used. */
export interface AllowedGrantStore {
  find(id: string): Promise<FoundGrant | undefined>;
  /** Lists those of a user, the oldest first. */
  list(userId: string): Promise<readonly FoundGrant[]>;
  /**
   * Stores one with its grant and the use of its assertion, all or nothing; in place of the grant that is `over`. Resolves to `false` when
   * another request has begun it, the assertion was used, the user was ended after the `sequence` of the grant, or the client after that of
   * the use.
   */
  begin(
    allowed: AllowedGrant,
    by: { readonly grant: Grant; readonly use: UsedAssertion; readonly over: string | undefined },
  ): Promise<boolean>;
  /** Replaces its `access`. Resolves to `false` when it is not `before` any more. */
  widen(id: string, before: AllowedGrant['access'], access: AllowedGrant['access']): Promise<boolean>;
  /** Deletes those of a user and a client that somebody has ended. Resolves to whether there was one. */
  forget(userId: string, clientId: string): Promise<boolean>;
  /** Stores a use. Of any number of calls with one id, on any number of nodes, one resolves to `true`. */
  use(assertion: UsedAssertion): Promise<boolean>;
  findUse(id: string): Promise<FoundUse | undefined>;
}

/** What an issuer has allowed, in the export of a user. */
export type ExportedGrant = Omit<AllowedGrant, 'id'>;

declare module '../../contracts/user-data.ts' {
  interface FeatureUserExports {
    readonly trustedIssuers: readonly ExportedGrant[];
  }
}
