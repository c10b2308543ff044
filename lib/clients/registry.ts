import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { isRegistered } from '../contracts/trust.ts';
import { now } from '../contracts/clock.ts';
import type {
  AuditEvent,
  AuditLog,
  AuditOrigin,
  Checked,
  CheckedClientRegistry,
  Client,
  ClientChanges,
  ClientQuery,
  ClientStore,
  FieldError,
  Seconds,
} from '../contracts/index.ts';
import { fieldError } from '../contracts/field-errors.ts';
import { ClientInvalidError } from '../errors.ts';
import { checkNames } from '../options/declare.ts';
import { checkClientFields } from './fields.ts';
import type { CheckedFields, KnownNames } from './fields.ts';
import { checkLogo } from './logo.ts';
import { createSecretRegistry, makeSecret, requireClient, secretEvent } from './secrets.ts';
import type { RegistryChanges } from './secrets.ts';

/** Returns the registry for one request or user, whose changes are recorded with that origin. */
export type RegistryFor = (origin?: AuditOrigin) => CheckedClientRegistry;

export function createClientRegistry(
  store: ClientStore,
  names: KnownNames,
  { audit, onChange }: Pick<RegistryChanges, 'onChange'> & { readonly audit: Pick<AuditLog, 'record'> },
): RegistryFor {
  /**
   * Applies a change to the stored client with a conditional update, and repeats it when a concurrent request has changed the
   * client in between, so that concurrent changes of different fields are all saved.
   *
   * @returns the client and the names of the fields that changed
   */
  async function change(
    id: string,
    apply: (client: Client) => Partial<Client>,
    save: (client: Client, ifUpdatedAt: Seconds) => Promise<boolean> = async (client, ifUpdatedAt) =>
      store.update(client, ifUpdatedAt),
  ): Promise<{ client: Client; fields: readonly string[] }> {
    for (;;) {
      const { client: before } = await requireClient(store, id);
      const after = { ...before, ...apply(before) };
      const fields = fieldNames(after).filter((field) => !isDeepStrictEqual(before[field], after[field]));
      // The update compares `updatedAt`, so two versions of a client must never have the same one. The row is written even where nothing
      // changes: the row that was read may have a change of another request that is not yet sure to last.
      const isSame = fields.length === 0;
      const client = isSame ? before : { ...after, updatedAt: Math.max(now(), before.updatedAt + 1) };
      if (await save(client, before.updatedAt)) {
        if (!isSame) onChange(id);
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
        return { disabled, disabledBy: disabled ? nextDisabledBy(before, origin?.actorId) : undefined };
      });
      const type = disabled ? 'client_disabled' : 'client_enabled';
      if (fields.length > 0) record({ type, clientId: id, name: client.name });
      return client;
    }

    async function deleteStored(
      id: string,
      ifUpdatedAt: Seconds | undefined,
    ): Promise<{ deleted: boolean; error?: unknown }> {
      try {
        return { deleted: await store.delete(id, ifUpdatedAt) };
      } catch (error) {
        // The client may have been deleted before the deletion of its consents and grants failed.
        const found = await store.find(id).catch(() => 'unknown');
        return { deleted: found === undefined, error };
      } finally {
        onChange(id);
      }
    }

    return {
      async create(given) {
        const client = newClient(requireValid(checkClientFields(given, names)), 'manual');
        const first = client.confidential && !client.keys ? makeSecret({ label: 'first' }) : undefined;
        await store.insert(client, first ? [first.stored] : []);
        record({ type: 'client_created', clientId: client.id, name: client.name });
        if (first) record(secretEvent('secret_added', client.id, first.stored));
        return { client, secret: first?.returned };
      },
      find: async (id) => (await store.find(id))?.client,
      list: async (query = {}) => store.list(checkClientQuery(query)),
      async update(id, changes) {
        const { client, fields } = await change(id, (before) => {
          const given = typeof changes === 'function' ? changes(before) : changes;
          const checked = requireValid(checkClientChanges(before, given, names));
          const isKept =
            given?.verified === true ||
            VOUCHED_FOR.every((field) => isDeepStrictEqual(checked[field], before[field]));
          return { ...checked, verified: checked.verified && isKept };
        });
        if (fields.length > 0) record({ type: 'client_updated', clientId: id, fields });
        return client;
      },
      async setLogo(id, picture, check) {
        const logo = picture === undefined ? undefined : requireValid(checkLogo(picture));
        const { client, fields } = await change(
          id,
          (before) => {
            check?.(before);
            if (!isRegistered(before)) throw new ClientInvalidError([fieldError('logo', 'unregistered_app')]);
            return logo?.hash === before.logoHash ? {} : { logoHash: logo?.hash, verified: false };
          },
          async (changed, ifUpdatedAt) => store.updateLogo(changed, logo?.picture, ifUpdatedAt),
        );
        if (fields.length > 0) record({ type: 'client_updated', clientId: id, fields });
        return client;
      },
      setDisabled,
      disable: async (id) => setDisabled(id, true),
      enable: async (id) => setDisabled(id, false),
      async delete(id) {
        for (;;) {
          const found = await store.find(id);
          const client = found?.client;
          const isLive = client && names.sources?.all.get(client.source)?.isLive;
          // The next consent would store the client again.
          if (isLive && client.disabled)
            throw new ClientInvalidError([fieldError('disabled', 'disabled_live')]);
          const { deleted, error } = await deleteStored(id, isLive ? client.updatedAt : undefined);
          if (deleted && client) record({ type: 'client_deleted', clientId: id, name: client.name });
          if (error !== undefined) throw error;
          // A concurrent request has changed the client, perhaps disabled it.
          if (!deleted && isLive && (await store.find(id))) continue;
          return deleted;
        }
      },
      ...createSecretRegistry(store, { record, onChange }),
    };
  };
}

/** The fields that `verified` is about, besides the logo. */
const VOUCHED_FOR = ['name', 'clientUri', 'redirectUris'] as const;

/** The checked fields. @throws ClientInvalidError with one entry per mistake */
function requireValid<T>({ checked, mistakes }: Checked<T>): T {
  if (mistakes) throw new ClientInvalidError(mistakes);
  return checked;
}

/** A new client with checked fields, enabled. */
export function newClient(
  fields: CheckedFields,
  source: Client['source'],
  id: string = randomUUID(),
): Client {
  const at = now();
  return {
    ...fields,
    id,
    logoHash: undefined,
    source,
    disabled: false,
    disabledBy: undefined,
    createdAt: at,
    updatedAt: at,
  };
}

/**
 * Checks a client with some of its fields changed.
 *
 * @returns all of its fields
 */
export function checkClientChanges(
  client: Client,
  changes: ClientChanges,
  known: KnownNames,
): Checked<CheckedFields> {
  const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, ...rest } = client;
  const {
    disabled: _disabled,
    disabledBy: _disabledBy,
    logoHash: _logo,
    source: _source,
    defaultScopes: _defaultScopes,
    ...fields
  } = rest;
  // `changes` may be a copy of the whole client, so that unchanged fields, such as the grant type, are no mistake.
  const changed = Object.entries(changes ?? {}).filter(
    ([field, value]) => !isDeepStrictEqual(value, client[field as keyof Client]),
  );
  const fixed = fixedFields(client, new Map(changed), known);
  if (fixed.length > 0) return { mistakes: fixed };
  return checkClientFields({ ...fields, ...Object.fromEntries(changed) }, known, client);
}

/** The fields that nobody can change: the grant type and, in a client that nobody registered, the fields that decide whom users trust. */
function fixedFields(
  client: Client,
  changed: ReadonlyMap<string, unknown>,
  { further, sources }: Pick<KnownNames, 'further' | 'sources'>,
): readonly FieldError[] {
  if (changed.has('grantType')) return [fieldError('grantType', 'grant_type_fixed')];
  if (isRegistered(client)) return [];
  const { decides } = sources?.all.get(client.source) ?? {};
  const decided = decides ? [...decides, ...(further?.all ?? []).map(({ name }) => name)] : [];
  const hasAllScopes = changed.has('scopes') && changed.get('scopes') === undefined;
  const isAbout = (field: string): boolean => Boolean(changed.get(field));
  return [
    ...['clientUri', 'verified'].filter(isAbout).map((field) => fieldError(field, 'unregistered_app')),
    ...decided.filter((field) => changed.has(field)).map((field) => fieldError(field, 'from_source')),
    ...(changed.get('firstParty') === true ? [fieldError('firstParty', 'unregistered_first_party')] : []),
    ...(hasAllScopes ? [fieldError('scopes', 'unregistered_scopes')] : []),
  ];
}

/** The `disabledBy` of a client after a user or a program has disabled it, possibly again. */
function nextDisabledBy(client: Client, actorId: string | undefined): string | undefined {
  // An owner who disables a client that an administrator has disabled must not become the one who may enable it. An
  // administrator who disables a client that its owner has disabled replaces the owner.
  const isOwner = actorId !== undefined && actorId === client.ownerId;
  return client.disabled && isOwner ? client.disabledBy : actorId;
}

function fieldNames(client: Client): (keyof Client)[] {
  return Object.keys(client) as (keyof Client)[];
}

const MAX_LIMIT = 200;

const QUERY: Readonly<Record<keyof ClientQuery, true>> = {
  search: true,
  ownerId: true,
  after: true,
  limit: true,
};

/**
 * Checks a query for a page of clients.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
function checkClientQuery(query: ClientQuery): ClientQuery {
  checkNames(query, QUERY, 'clients.list()');
  const mistakes: FieldError[] = [];
  const { limit } = query;
  for (const field of ['search', 'ownerId', 'after'] as const) {
    const text: unknown = query[field];
    if (text !== undefined && typeof text !== 'string') mistakes.push(fieldError(field, 'not_string'));
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT)) {
    mistakes.push(fieldError('limit', 'out_of_range', { most: MAX_LIMIT }));
  }
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  return query;
}
