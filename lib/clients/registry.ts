import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { now } from '../contracts/clock.ts';
import type {
  AuditEvent,
  AuditLog,
  AuditOrigin,
  CheckedClientRegistry,
  Client,
  ClientQuery,
  ClientStore,
} from '../contracts/index.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { checkClientChanges, checkClientFields } from './fields.ts';
import type { KnownNames } from './fields.ts';
import { createSecretRegistry, makeSecret, secretEvent, storedClient } from './secrets.ts';
import type { RegistryChanges } from './secrets.ts';

/** The registry, for somebody whose changes are recorded as theirs. */
export type RegistryFor = (origin?: AuditOrigin) => CheckedClientRegistry;

export function createClientRegistry(
  store: ClientStore,
  names: KnownNames,
  { audit, onChange }: Pick<RegistryChanges, 'onChange'> & { readonly audit: Pick<AuditLog, 'record'> },
): RegistryFor {
  /**
   * Saves a change of what is there now. Two people who change different fields at once both keep theirs: whoever comes
   * second changes what the first one has saved.
   *
   * @returns the client and the names of the fields that changed
   */
  async function change(
    id: string,
    apply: (client: Client) => Partial<Client>,
  ): Promise<{ client: Client; fields: readonly string[] }> {
    for (;;) {
      const { client: before } = await storedClient(store, id);
      const after = { ...before, ...apply(before) };
      const fields = fieldNames(after).filter((field) => !isDeepStrictEqual(before[field], after[field]));
      if (fields.length === 0) return { client: before, fields };
      // It tells one state of a client from the next, so it never stays the same.
      const client = { ...after, updatedAt: Math.max(now(), before.updatedAt + 1) };
      if (await store.update(client, before.updatedAt)) {
        onChange(id);
        return { client, fields };
      }
    }
  }

  return function registryFor(origin) {
    const record = (event: AuditEvent): void => audit.record(event, origin);

    async function setDisabled(
      id: string,
      disabled: boolean,
      check?: (client: Client) => void,
    ): Promise<Client> {
      const { client, fields } = await change(id, (before) => {
        check?.(before);
        return { disabled, disabledBy: disabled ? disablerOf(before, origin?.actorId) : undefined };
      });
      const type = disabled ? 'client_disabled' : 'client_enabled';
      if (fields.length > 0) record({ type, clientId: id, name: client.name });
      return client;
    }

    async function deleteStored(id: string): Promise<{ deleted: boolean; error?: unknown }> {
      try {
        return { deleted: await store.delete(id) };
      } catch (error) {
        // It may be gone although not all that belongs to it is.
        const found = await store.find(id).catch(() => 'unknown');
        return { deleted: found === undefined, error };
      } finally {
        onChange(id);
      }
    }

    return {
      async create(given) {
        const at = now();
        const fields = checkClientFields(given, names);
        const client: Client = {
          ...fields,
          id: randomUUID(),
          disabled: false,
          disabledBy: undefined,
          createdAt: at,
          updatedAt: at,
        };
        const first = client.confidential ? makeSecret({ label: 'first' }) : undefined;
        await store.insert(client, first ? [first.stored] : []);
        record({ type: 'client_created', clientId: client.id, name: client.name });
        if (first) record(secretEvent('secret_added', client.id, first.stored));
        return { client, secret: first?.shown };
      },
      find: async (id) => (await store.find(id))?.client,
      list: async (query = {}) => store.list(checkClientQuery(query)),
      async update(id, changes) {
        const { client, fields } = await change(id, (before) =>
          checkClientChanges(before, typeof changes === 'function' ? changes(before) : changes, names),
        );
        if (fields.length > 0) record({ type: 'client_updated', clientId: id, fields });
        return client;
      },
      setDisabled,
      disable: async (id) => setDisabled(id, true),
      enable: async (id) => setDisabled(id, false),
      async delete(id) {
        const found = await store.find(id);
        const { deleted, error } = await deleteStored(id);
        if (deleted && found) record({ type: 'client_deleted', clientId: id, name: found.client.name });
        if (error !== undefined) throw error;
        return deleted;
      },
      ...createSecretRegistry(store, { record, onChange }),
    };
  };
}

/** Who may enable a client again, once somebody has disabled it who may have found it disabled. */
function disablerOf(client: Client, actorId: string | undefined): string | undefined {
  // An owner does not take over what somebody else has disabled; everybody else takes over what its owner has.
  const isOwner = actorId !== undefined && actorId === client.ownerId;
  return client.disabled && isOwner ? client.disabledBy : actorId;
}

function fieldNames(client: Client): (keyof Client)[] {
  return Object.keys(client) as (keyof Client)[];
}

const MOST = 200;

/**
 * Checks what a page of clients is asked for.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
function checkClientQuery(query: ClientQuery): ClientQuery {
  const mistakes: FieldError[] = [];
  const { limit } = query;
  for (const field of ['search', 'ownerId', 'after'] as const) {
    const text: unknown = query[field];
    if (text !== undefined && typeof text !== 'string') mistakes.push(fieldError(field, 'not_string'));
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MOST)) {
    mistakes.push(fieldError('limit', 'out_of_range', { most: MOST }));
  }
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  return query;
}
