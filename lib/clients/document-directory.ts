import type { AuditOrigin, StoredClient } from '../contracts/index.ts';
import type { ClientDirectory } from './directory.ts';

/** A directory that also finds clients that are known only by the URL of their metadata document. */
export interface DocumentDirectory extends ClientDirectory {
  /**
   * Finds the client of an authorization request. Fetches its document where it is unknown here or not fresh, and the host does not
   * refuse its URL.
   *
   * @param address - of the requester
   * @throws ClientMetadataError when the document cannot be used, or the host does not allow the app
   * @throws TooManyAttemptsError when too many documents were requested, or too many requests wait for one
   */
  resolve(id: string, address: string): Promise<StoredClient | undefined>;
  /** Whether the client is stored. Else it was found by `resolve`, and no user has consented to it yet. */
  isStored(found: StoredClient): boolean;
  /** Stores a client that `resolve` has found, unless it is stored: on the first consent of a user. */
  keep(found: StoredClient, origin: AuditOrigin): Promise<void>;
}

/** The directory of a server without the option `clients.documents`. */
export function withoutDocuments(directory: ClientDirectory): DocumentDirectory {
  return { ...directory, resolve: async (id) => directory.find(id), isStored: () => true, async keep() {} };
}
