import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../../contracts/cache-bound.ts';
import { now } from '../../contracts/clock.ts';
import type { RemoteWaits, Seconds } from '../../contracts/index.ts';
import { ClientSourceError, TooManyAttemptsError } from '../../errors.ts';
import type { CheckAppName } from '../../clients/app-names.ts';
import type { PublicFetch } from '../../http/public-fetch.ts';
import { PublicFetchError } from '../../http/public-request.ts';
import { invalid, readDocument } from './document.ts';
import type { DocumentFields } from './document.ts';
import { inMetadata } from './metadata.ts';

/** What {@link createDocumentFetch} takes. */
export interface DocumentFetchPorts {
  readonly fetch: PublicFetch;
  readonly waits: RemoteWaits;
  /** Counts a requester that waits, and the fetch that it causes from a host. @throws TooManyAttemptsError */
  readonly countFetch: (by: { readonly address: string; readonly host: string | undefined }) => void;
  readonly loadNameCheck: () => Promise<CheckAppName>;
  /** Whether the server offers the authentication method `private_key_jwt`. */
  readonly privateKeyJwt: boolean;
}

/** A document that was fetched and checked. */
export interface FetchedDocument {
  readonly fields: DocumentFields;
  readonly freshUntil: Seconds;
}

/** Fetches and checks documents. */
export interface DocumentFetch {
  /**
   * Requests for the same document at the same time share one fetch.
   *
   * @param id - a URL that was checked
   * @param address - the address of the requester; `undefined` when no request waits
   * @throws ClientSourceError when the document cannot be used; for a minute, the same error without another fetch
   * @throws TooManyAttemptsError when too many requests wait, when the requester, or all requesters for this host, have caused too many
   * fetches, or when too many fetches run at this moment
   */
  load(id: string, address: string | undefined): Promise<FetchedDocument>;
  /** Why the last fetch failed. */
  failureOf(id: string): ClientSourceError | undefined;
}

// The largest size, as the draft recommends it.
export const DOCUMENT = { maxBytes: 5 * 1024 };

// In seconds. A document is fetched again when its own lifetime, within these limits, has passed.
const FRESH = { least: 300, most: 86_400, default: 3600 };

// For how long a document that could not be used is not fetched again.
export const RETRY: Seconds = 60;

// By then, the fetches that run now have ended.
const RETRY_WHEN_BUSY: Seconds = 5;

export function createDocumentFetch(ports: DocumentFetchPorts): DocumentFetch {
  const failures = new LRUCache<string, { readonly error: ClientSourceError; readonly until: Seconds }>(
    CACHE_BOUND,
  );
  const running = new Map<string, Promise<FetchedDocument>>();

  async function fetchDocument(id: string): Promise<FetchedDocument> {
    try {
      const { maxAge = FRESH.default, value } = await ports.fetch(id, DOCUMENT);
      const fields = readDocument(id, value, ports);
      const mistake = (await ports.loadNameCheck())(fields.name);
      if (mistake) throw invalid([inMetadata(mistake)]);
      failures.delete(id);
      return { fields, freshUntil: now() + Math.min(Math.max(maxAge, FRESH.least), FRESH.most) };
    } catch (cause) {
      if (cause instanceof PublicFetchError && cause.reason === 'busy')
        throw new TooManyAttemptsError(RETRY_WHEN_BUSY);
      const error = cause instanceof PublicFetchError ? errorOf(cause) : cause;
      if (error instanceof ClientSourceError) failures.set(id, { error, until: now() + RETRY });
      throw error;
    }
  }

  async function fetchShared(id: string): Promise<FetchedDocument> {
    const shared = running.get(id);
    if (shared) return shared;
    const started = fetchDocument(id).finally(() => running.delete(id));
    running.set(id, started);
    return started;
  }

  return {
    async load(id, address) {
      const failure = failures.get(id);
      if (failure && failure.until > now()) throw failure.error;
      if (address === undefined) return fetchShared(id);
      return ports.waits.wait({ url: id, address }, async () => {
        ports.countFetch({ address, host: running.has(id) ? undefined : new URL(id).host });
        return fetchShared(id);
      });
    },
    failureOf: (id) => failures.get(id)?.error,
  };
}

// Failures that the site itself answers for. Any other failure may be one of the network, and says nothing about the document.
const AUTHORITATIVE: ReadonlySet<string> = new Set(['content_type', 'not_json', 'too_large']);

function errorOf(cause: PublicFetchError): ClientSourceError {
  const { message, reason, status } = cause;
  const isGone = status === 404 || status === 410;
  return new ClientSourceError(
    isGone || AUTHORITATIVE.has(reason) ? 'invalid' : 'unavailable',
    `the metadata document could not be read: ${message}${status === undefined ? '' : ` (${status})`}`,
    { cause },
  );
}
