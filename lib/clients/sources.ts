import type { AuditOrigin } from '../contracts/audit.ts';
import type { StoredClient } from '../contracts/clients.ts';
import type { Consent } from '../contracts/consents.ts';

/** What a source does on a server. */
export interface ClientSourceHooks {
  /** The name of the source. */
  readonly source: string;
  /** For a source that is live. */
  readonly lookup?: ClientLookup;
  /**
   * Adds a consent to a client of the source, instead of `ConsentStore.add`. Resolves to `false` when the client, or the user, was ended.
   */
  readonly addConsent?: (consent: Consent, sequence: number) => Promise<boolean>;
}

/** Finds clients that are not stored, and changes stored ones that have changed at their source. */
export interface ClientLookup {
  /** Whether an id is that of a client of the source. */
  readonly isOf: (id: string) => boolean;
  /**
   * Finds the client of any request but an authorization request, and waits for nothing outside this server. @param stored - the client,
   * if it is stored
   */
  find(id: string, stored: StoredClient | undefined): StoredClient | undefined;
  /** A stored client as it may be used now, for its tokens, without a lookup. */
  limit(stored: StoredClient): StoredClient;
  /**
   * Finds the client of an authorization request.
   *
   * @param stored - reads the client anew
   * @throws ClientSourceError when the client cannot be authorized
   * @throws TooManyAttemptsError
   */
  resolve(
    id: string,
    address: string,
    stored: () => Promise<StoredClient | undefined>,
  ): Promise<StoredClient | undefined>;
  /** Whether a client is stored. */
  isStored(found: StoredClient): boolean;
  /** Stores a client, unless it is stored. */
  keep(found: StoredClient, origin: AuditOrigin): Promise<void>;
}
