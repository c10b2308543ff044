import type { FurtherClientMetadata, Seconds } from '../../contracts/index.ts';
import type { Client, ClientSecret } from '../../contracts/index.ts';
import type { Consent } from '../../contracts/index.ts';

/** How a client that registered itself authenticates: its `token_endpoint_auth_method` (RFC 7591 section 2). */
export type RegisteredAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post';

/** The registration of a client that registered itself. */
export interface StoredRegistration {
  readonly clientId: string;
  /** SHA-256 of the registration access token (RFC 7592 section 1.2), base64url; `''`: none. */
  readonly tokenHash: string;
  readonly authMethod: RegisteredAuthMethod;
  /** From when on the client is removed if it is unused. A consent moves it to `unusedAfter` later. */
  readonly removableAt: Seconds;
  /** For how long the client is kept after it was last used. */
  readonly unusedAfter: Seconds;
  /** A keyed hash of the network that the client was registered from. */
  readonly network: string;
}

/** How many clients that registered themselves may exist, and which of them gives way to a further one. */
export interface RegistrationPlaces {
  readonly limit: number;
  /** Of the clients that one user alone has authorized, a user keeps this number. */
  readonly perUser: number;
  /** Of these, one gives way too when it was not used since then. */
  readonly unusedSince: Seconds;
  readonly now: Seconds;
}

/** Stores the clients that registered themselves (RFC 7591): the `registrations` of a {@link Storage}. */
export interface RegistrationStore {
  /**
   * Adds a client with its secrets and its registration: all or nothing. Concurrent callers on any number of nodes never store
   * more than `limit`. When that many are stored, one gives way, and is deleted as by `ClientStore.delete`:
   *
   * 1. of those without a consent and a valid grant, the oldest one of the network that has the most of them
   * 2. of those that one user alone has consented to, the longest unused one of the user who has the most of them, if these are
   *    more than `perUser`
   * 3. of those that one user alone has consented to, the longest unused one that was not used since `unusedSince`
   *
   * A disabled client and one that several users have consented to never gives way. A concurrent consent is serialized before,
   * and counts, or after, and is not stored.
   *
   * @returns the clients that were deleted; `undefined`: nothing was stored, because none gives way
   */
  insert(
    registered: {
      readonly client: Client;
      readonly secrets: readonly ClientSecret[];
      readonly registration: StoredRegistration;
    },
    places: RegistrationPlaces,
  ): Promise<readonly Pick<Client, 'id' | 'name'>[] | undefined>;
  /** Finds the registration of a client. `ClientStore.delete` deletes it together with the client. */
  find(clientId: string): Promise<StoredRegistration | undefined>;
  /** Makes the `tokenHash` of a registration empty, so that no token manages the client any more. */
  removeToken(clientId: string): Promise<void>;
  /**
   * Adds a consent to the client, as `ConsentStore.add` does, and moves `removableAt` of its registration to `unusedAfter` after the
   * consent, unless that is later already: both or neither. When there is no registration, because the client was deleted, or the user
   * was ended after `sequence`, nothing is stored and the call resolves to `false`. A concurrent deletion is serialized before or after this call, and one after it deletes
   * the consent.
   */
  addConsent(consent: Consent, sequence?: number): Promise<boolean>;
  /**
   * Deletes up to `limit` clients with their registrations, secrets, consents and grants: those whose `removableAt` is before
   * `now`, that are not disabled, and that are unused. A client is used as long as a grant of it is neither revoked nor
   * expired, and for its `unusedAfter` after a user has last consented to it, used it or ended a grant of it. That of a used
   * client is moved to its `unusedAfter` from `now`. A concurrent consent is serialized before, and keeps the client, or after,
   * and is not stored.
   *
   * @returns the deleted clients, and the number of registrations that were looked at: call it again until that is 0
   */
  deleteUnused(
    now: Seconds,
    limit: number,
  ): Promise<{ readonly deleted: readonly Pick<Client, 'id' | 'name'>[]; readonly seen: number }>;
}

/** The metadata of a client that registered itself, as registered (RFC 7591 section 2). */
export interface ClientMetadata extends FurtherClientMetadata {
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: RegisteredAuthMethod;
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  /** `native`: redirect URIs on a loopback address match on any port (RFC 8252 section 7.3). */
  readonly application_type: 'native' | 'web';
  /** Absent when the client may request no scope. */
  readonly scope?: string;
}

/**
 * The members of a client's metadata document that this server uses, checked (OAuth Client ID Metadata Document, RFC 7591 section
 * 2). The name is what the client calls itself; anybody may write the same.
 */
export interface ClientMetadataDocument {
  /** The URL of the document. */
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: 'none' | 'private_key_jwt';
  readonly jwks?: { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  readonly jwks_uri?: string;
}
