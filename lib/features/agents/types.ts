import type { FurtherClientMetadata, Seconds } from '../../contracts/index.ts';
import type { Client, StoredSecret } from '../../contracts/index.ts';
import type { Consent } from '../../contracts/index.ts';

/** How a client that registered itself authenticates: its `token_endpoint_auth_method` (RFC 7591 section 2). */
export type RegisteredAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post';

/** The registration of a client that registered itself. */
export interface StoredRegistration {
  readonly clientId: string;
  /** SHA-256 of the registration access token (RFC 7592 section 1.2), base64url; `''` when there is none. */
  readonly tokenHash: string;
  readonly authMethod: RegisteredAuthMethod;
  /** The time from which on the client is removed if it is unused. A consent moves this time to `unusedAfter` after the consent. */
  readonly removableAt: Seconds;
  /** For how long the client is kept after it was last used. */
  readonly unusedAfter: Seconds;
  /** A keyed hash of the network that the client was registered from. */
  readonly network: string;
}

/** How many clients that registered themselves may exist, and which of them is deleted for a further one. */
export interface RegistrationPlaces {
  readonly limit: number;
  /** How many of the clients that a user alone has authorized are kept. */
  readonly perUser: number;
  /** Such a client is deleted too when it was not used since this time. */
  readonly unusedSince: Seconds;
  readonly now: Seconds;
}

/** Stores the clients that registered themselves (RFC 7591): the `registrations` of a {@link Storage}. */
export interface RegistrationStore {
  /**
   * Adds a client with its secrets and its registration: all or nothing. Concurrent callers on any number of nodes never store more than
   * `limit`. When that many are stored, the first of these clients is deleted as by `ClientStore.delete`:
   *
   * 1. among the clients without a consent and a valid grant, the oldest of the network that has the most of them
   * 2. among the clients that one user alone has consented to, the longest unused of the user who has the most of them, if that user has
   *    more than `perUser`
   * 3. among the clients that one user alone has consented to, the longest unused, if it was not used since `unusedSince`
   *
   * A disabled client, and a client that several users have consented to, is never deleted. A concurrent consent either comes before and
   * counts, or comes after and is not stored.
   *
   * @returns the clients that were deleted; `undefined` when nothing was stored, because no client can be deleted
   */
  insert(
    registered: {
      readonly client: Client;
      readonly secrets: readonly StoredSecret[];
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
   * consent, unless `removableAt` is later already: both or neither. When there is no registration, because the client was deleted, or
   * the user was ended after `sequence`, nothing is stored and the call resolves to `false`. A concurrent deletion comes before or after
   * this call; when it comes after, it deletes the consent.
   */
  addConsent(consent: Consent, sequence?: number): Promise<boolean>;
  /**
   * Deletes up to `limit` clients with their registrations, secrets, consents and grants: those whose `removableAt` is before `now`, that
   * are not disabled, and that are unused. A client is used while one of its grants is neither revoked nor expired, and for its
   * `unusedAfter` after a user has last consented to it, used it or ended one of its grants. The `removableAt` of a used client is moved
   * to `unusedAfter` from `now`. A concurrent consent either comes before and keeps the client, or comes after and is not stored.
   *
   * @returns the deleted clients, and the number of registrations that were looked at: repeat the call until that is 0
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
  /** With `native`, redirect URIs on a loopback address match on any port (RFC 8252 section 7.3). */
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
