import { isDeepStrictEqual } from 'node:util';

import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../../contracts/cache-bound.ts';
import { now } from '../../contracts/clock.ts';
import type {
  AuditEvent,
  AuditLog,
  Client,
  ClientStore,
  FurtherField,
  Logger,
  Seconds,
  StoredClient,
} from '../../contracts/index.ts';
import { ClientSourceError, TooManyAttemptsError } from '../../errors.ts';
import type { CheckedFields, KnownNames } from '../../clients/fields.ts';
import { withoutFurther } from '../../clients/further-fields.ts';
import { newClient } from '../../clients/registry.ts';
import type { ClientLookup } from '../../clients/sources.ts';
import { checkDocumentUrl, isDocumentUrl, toDocument } from './document.ts';
import type { DocumentFields } from './document.ts';
import type { DocumentPolicy } from './options.ts';
import type { ClientMetadataDocument } from './types.ts';
import { OF_DOCUMENT } from './sources.ts';
import { createDocumentFetch } from './document-fetch.ts';
import type { DocumentFetchPorts } from './document-fetch.ts';

/** What {@link createDocumentLookup} takes. */
export interface DocumentPorts extends DocumentFetchPorts {
  readonly store: Pick<ClientStore, 'find' | 'insert' | 'update'>;
  readonly names: Pick<KnownNames, 'further'>;
  readonly policy: DocumentPolicy;
  readonly issuer: string;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly logger: Logger;
  /** Called when a stored client has changed. */
  readonly onChange: (id: string) => void;
}

// After this time, the document of a stored client is fetched again when it could not be used.
const RETRY: Seconds = 60;

/** A document takes a few kB. */
const MOST_DOCUMENTS = { maxSize: 1000, sizeCalculation: () => 1 };

/**
 * Finds the clients with metadata documents.
 *
 * Only authorization requests, and the pages that they lead to, wait for a document. The first consent of a user stores the client, like
 * any other; from then on a document that cannot be fetched changes nothing. When a document is gone or not valid any more, there are no
 * new authorizations on any node: the stored client has no redirect URIs until its document is valid again. The client's tokens, and
 * their refresh, do not depend on the document.
 */
export function createDocumentLookup(ports: DocumentPorts): ClientLookup {
  const { audit, logger, names, onChange, policy, store } = ports;
  const unstored = new LRUCache<string, { readonly found: StoredClient; readonly freshUntil: Seconds }>(
    MOST_DOCUMENTS,
  );
  const documents = createDocumentFetch(ports);
  const urls = { own: new URL(ports.issuer), loopback: policy.loopback };
  /** When the documents of stored clients have to be fetched again. */
  const checkedUntil = new LRUCache<string, Seconds>(CACHE_BOUND);
  const notStored = new WeakSet<StoredClient>();
  const limited = new WeakMap<StoredClient, StoredClient>();

  async function discover(id: string, address: string): Promise<StoredClient> {
    const known = unstored.get(id);
    if (known && known.freshUntil > now()) return known.found;
    const { fields, freshUntil } = await documents.load(id, address);
    const found = toStored(id, fields, { ...policy, further: names.further?.all ?? [] });
    notStored.add(found);
    unstored.set(id, { found, freshUntil });
    return found;
  }

  /** Fetches the document of a stored client when it is not fresh, and applies it. */
  async function check(id: string, address?: string): Promise<void> {
    if ((checkedUntil.get(id) ?? 0) > now()) return;
    checkedUntil.set(id, now() + RETRY);
    try {
      const { fields, freshUntil } = await documents.load(id, address);
      checkedUntil.set(id, freshUntil);
      await apply(id, fields);
    } catch (error) {
      if (error instanceof ClientSourceError && error.reason === 'invalid') {
        await apply(id, { redirectUris: [] });
      } else if (error instanceof TooManyAttemptsError) {
        // The next requester may have another address.
        checkedUntil.delete(id);
      } else if (error instanceof ClientSourceError) {
        logger.info({ client_id: id, reason: error.message }, 'client metadata document not refreshed');
      } else {
        throw error;
      }
    }
  }

  /** Changes a stored client, if it is still stored. */
  async function apply(id: string, fields: Partial<DocumentFields>): Promise<void> {
    for (;;) {
      const before = (await store.find(id))?.client;
      if (!before || !isOfDocument(before)) return;
      const changed = (Object.keys(fields) as (keyof DocumentFields)[]).filter(
        (field) => !isDeepStrictEqual(before[field], fields[field]),
      );
      if (changed.length === 0) return;
      const client = { ...before, ...fields, updatedAt: Math.max(now(), before.updatedAt + 1) };
      if (await store.update(client, before.updatedAt)) {
        onChange(id);
        audit.record(changeEvent(client, changed));
        return;
      }
    }
  }

  async function requireAllowed({ client }: StoredClient): Promise<void> {
    const isAllowed: unknown = await policy.allow({ clientId: client.id, metadata: toDocument(client) });
    if (isAllowed !== true) throw refused();
  }

  /**
   * Asks the host before anything is fetched.
   *
   * @returns whether the host has decided by the URL alone; otherwise it is asked again with the document
   * @throws ClientSourceError when the host refuses the app
   */
  async function isAllowedByUrl(id: string): Promise<boolean> {
    const { document, release, wasRead } = unfetchedDocument();
    let isAllowed: unknown;
    try {
      isAllowed = await policy.allow({ clientId: id, metadata: document });
    } catch (error) {
      if (!wasRead()) throw error;
    } finally {
      release();
    }
    if (wasRead()) return false;
    if (isAllowed !== true) throw refused();
    return true;
  }

  /** The stored client without the scopes that the option does not list any more, and with the default scopes of the option. */
  function withinPolicy(stored: StoredClient): StoredClient {
    const { client } = stored;
    const scopes = (client.scopes ?? policy.scopes).filter((scope) => policy.scopes.includes(scope));
    const known = limited.get(stored);
    if (known) return known;
    const narrowed = { ...stored, client: { ...client, scopes, defaultScopes: policy.defaultScopes } };
    limited.set(stored, narrowed);
    return narrowed;
  }

  return {
    isOf: (id) => isDocumentUrl(id, urls),
    find(id, stored) {
      if (!stored) return unstored.get(id)?.found;
      if (!isOfDocument(stored.client) || stored.client.disabled) return stored;
      // Only the client's keys matter here, and no request waits for them.
      if ((checkedUntil.get(id) ?? 0) <= now()) {
        check(id).catch((error: unknown) => {
          logger.warn({ err: error, client_id: id }, 'refreshing a client metadata document failed');
        });
      }
      return withinPolicy(stored);
    },
    limit: withinPolicy,
    async resolve(id, address, read) {
      const stored = await read();
      if (stored && (!isOfDocument(stored.client) || stored.client.disabled)) return stored;
      checkDocumentUrl(id, urls);
      const isAllowed = await isAllowedByUrl(id);
      if (!stored) {
        const found = await discover(id, address);
        if (!isAllowed) await requireAllowed(found);
        return found;
      }
      await check(id, address);
      const current = await read();
      if (!current) return undefined;
      if (current.client.redirectUris.length === 0)
        throw documents.failureOf(id) ?? new ClientSourceError('invalid', WITHDRAWN);
      if (!isAllowed) await requireAllowed(current);
      return withinPolicy(current);
    },
    isStored: (found) => !notStored.has(found),
    async keep(found, origin) {
      if (!notStored.has(found)) return;
      const { id, name } = found.client;
      const at = now();
      try {
        await store.insert({ ...found.client, createdAt: at, updatedAt: at }, []);
      } catch (error) {
        // Another request has stored the client.
        if (!(await store.find(id))) throw error;
        return;
      }
      checkedUntil.set(id, unstored.get(id)?.freshUntil ?? at);
      onChange(id);
      audit.record({ type: 'client_created', clientId: id, name, source: OF_DOCUMENT.name }, origin);
    },
  };
}

function isOfDocument({ source }: Client): boolean {
  return source === OF_DOCUMENT.name;
}

/** Stands for a document that was not fetched. When the policy reads it, the read throws, and the policy's answer does not count. */
function unfetchedDocument(): {
  readonly document: ClientMetadataDocument;
  readonly wasRead: () => boolean;
  /** Makes the document an empty object from then on: nobody would catch an error that is thrown after the policy has answered. */
  readonly release: () => void;
} {
  let isRead = false;
  const read = (): never => {
    isRead = true;
    throw new Error('the document is not fetched yet');
  };
  const traps: ProxyHandler<ClientMetadataDocument> = {
    get: read,
    has: read,
    ownKeys: read,
    getOwnPropertyDescriptor: read,
  };
  return {
    document: new Proxy({} as ClientMetadataDocument, traps),
    wasRead: () => isRead,
    release() {
      for (const trap of Object.keys(traps)) delete traps[trap as keyof typeof traps];
    },
  };
}

function refused(): ClientSourceError {
  return new ClientSourceError('refused', 'this server does not allow the app of this client_id');
}

const WITHDRAWN = 'the metadata document is gone, or is not valid any more';

function changeEvent({ id, name, redirectUris }: Client, fields: readonly string[]): AuditEvent {
  return redirectUris.length === 0
    ? { type: 'client_withdrawn', clientId: id, name }
    : { type: 'client_updated', clientId: id, fields };
}

function toStored(
  id: string,
  fields: DocumentFields,
  {
    defaultScopes,
    further,
    scopes,
  }: Pick<DocumentPolicy, 'defaultScopes' | 'scopes'> & { readonly further: readonly FurtherField[] },
): StoredClient {
  const client: CheckedFields = {
    ...fields,
    clientUri: undefined,
    ...withoutFurther(further),
    verified: false,
    grantType: 'authorization_code',
    firstParty: false,
    scopes,
    roles: [],
    permissions: [],
    ownerId: undefined,
    lifetimes: {},
  };
  return {
    client: { ...newClient(client, OF_DOCUMENT.name, id), defaultScopes },
    secrets: [],
    sequence: 0,
  };
}
