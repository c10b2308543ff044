import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import { ClientMetadataError } from '../errors.ts';
import { PublicFetchError } from '../http/public-fetch.ts';
import type { PublicFetch } from '../http/public-fetch.ts';
import { checkDocumentUrl, readDocument } from './metadata-document.ts';
import type { DocumentFields } from './metadata-document.ts';

/** What {@link createDocumentFetch} takes. */
export interface DocumentFetchPorts {
  readonly fetch: PublicFetch;
  /** Counts a fetch for a requester. @throws TooManyAttemptsError */
  readonly countFetch: (address: string, host: string) => void;
  /** The mistake in a name, such as one that looks like the platform's own. */
  readonly nameMistake: (name: string) => Promise<string | undefined>;
  /** Whether the server offers that authentication method. */
  readonly privateKeyJwt: boolean;
  /** The host name of the issuer. */
  readonly ownHost: string;
}

/** A document that was fetched and checked. */
export interface FetchedDocument {
  readonly fields: DocumentFields;
  /** In seconds since 1970. */
  readonly freshUntil: number;
}

/** Fetches and checks documents. */
export interface DocumentFetch {
  /**
   * Requests for the same document at the same time share one fetch.
   *
   * @param address - of the requester; `undefined`: the server itself refreshes the document
   * @throws ClientMetadataError - the same one again for a minute, without a fetch
   * @throws TooManyAttemptsError when the requester, or all for this host, have caused too many fetches
   */
  load(id: string, address: string | undefined): Promise<FetchedDocument>;
  /** Why the last fetch failed. */
  failureOf(id: string): ClientMetadataError | undefined;
}

// The size that the draft recommends as the most.
const DOCUMENT = { maxBytes: 5 * 1024 };

// In seconds. A document is fetched again when its own lifetime, within these limits, has passed.
const FRESH = { least: 300, most: 86_400, default: 3600 };

// In seconds: how long a document that could not be used is not fetched again.
const RETRY = 60;

export function createDocumentFetch(ports: DocumentFetchPorts): DocumentFetch {
  const failures = new LRUCache<string, { readonly error: ClientMetadataError; readonly until: number }>(
    CACHE_BOUND,
  );
  const running = new Map<string, Promise<FetchedDocument>>();

  async function fetchDocument(id: string): Promise<FetchedDocument> {
    try {
      const { maxAge = FRESH.default, value } = await ports.fetch(id, DOCUMENT);
      const fields = readDocument(id, value, ports);
      const mistake = await ports.nameMistake(fields.name);
      if (mistake !== undefined) {
        const message = `the metadata document is not valid: client_name: ${mistake}`;
        throw new ClientMetadataError('invalid', message);
      }
      failures.delete(id);
      return { fields, freshUntil: now() + Math.min(Math.max(maxAge, FRESH.least), FRESH.most) };
    } catch (cause) {
      const error = cause instanceof PublicFetchError ? errorOf(cause) : cause;
      // Too many fetches at this moment say nothing about the next.
      const isBusy = cause instanceof PublicFetchError && cause.reason === 'busy';
      if (error instanceof ClientMetadataError && !isBusy) failures.set(id, { error, until: now() + RETRY });
      throw error;
    }
  }

  return {
    async load(id, address) {
      const failure = failures.get(id);
      if (failure && failure.until > now()) throw failure.error;
      const shared = running.get(id);
      if (shared) return shared;
      checkDocumentUrl(id, ports.ownHost);
      if (address !== undefined) ports.countFetch(address, new URL(id).host);
      const started = fetchDocument(id).finally(() => running.delete(id));
      running.set(id, started);
      return started;
    },
    failureOf: (id) => failures.get(id)?.error,
  };
}

// What the site itself says about the document. Any other failure may be one of the network, and says nothing about it.
const AUTHORITATIVE: ReadonlySet<string> = new Set(['content_type', 'not_json', 'too_large']);

function errorOf(cause: PublicFetchError): ClientMetadataError {
  const { message, reason, status } = cause;
  const isGone = status === 404 || status === 410;
  return new ClientMetadataError(
    isGone || AUTHORITATIVE.has(reason) ? 'invalid' : 'unavailable',
    `the metadata document could not be read: ${message}${status === undefined ? '' : ` (${status})`}`,
    { cause },
  );
}
