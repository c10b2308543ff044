import { randomBytes, randomUUID } from 'node:crypto';

import type { Client, ClientQuery, ClientSecret, ClientStore } from '../contracts.ts';
import { GatehouseError } from '../errors.ts';
import { checkClientFields } from './client-fields.ts';
import type { ClientFields, KnownNames } from './client-fields.ts';
import { now } from './clock.ts';
import { hashCredential } from './hash.ts';

/** A secret and its value, which is shown this once. */
export interface NewSecret {
  readonly secret: ClientSecret;
  /** What the client sends as `client_secret`. Nobody can read it again. */
  readonly value: string;
}

/** The registered clients. Every change is checked, and takes effect on this node at once. */
export interface ClientRegistry<P extends string = string, R extends string = string> {
  /**
   * Registers a client. A confidential one gets its first secret, whose value is given out here and never again.
   * @throws ClientInvalidError with one entry per mistake
   */
  create(fields: ClientFields<P, R>): Promise<{ client: Client; secret: string | undefined }>;
  find(id: string): Promise<Client | undefined>;
  /** Clients by name, a page at a time. */
  list(query?: ClientQuery): Promise<readonly Client[]>;
  /**
   * Changes the given fields; the grant type stays.
   * @throws ClientInvalidError with one entry per mistake
   */
  update(id: string, changes: Partial<Omit<ClientFields<P, R>, 'grantType'>>): Promise<Client>;
  /** Stops the client and its tokens until it is enabled again. */
  disable(id: string): Promise<Client>;
  enable(id: string): Promise<Client>;
  /** Removes the client with its secrets, consents and grants. `false`: there is none. */
  delete(id: string): Promise<boolean>;
  /** The client's secrets; values are not kept. */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /** Adds a secret beside those that are live: rotation without downtime is add, deploy, remove. */
  addSecret(id: string, options?: { label?: string; expiresAt?: number }): Promise<NewSecret>;
  removeSecret(id: string, secretId: string): Promise<boolean>;
  /** Replaces all secrets by a new one; the old ones stop at once. */
  rotateSecret(id: string, options?: { label?: string }): Promise<NewSecret>;
}

/** @param onChange - told the id of each client that changed, after the change */
export function createClientRegistry(
  store: ClientStore,
  names: KnownNames,
  onChange: (id: string) => void,
): ClientRegistry {
  async function stored(id: string): Promise<{ client: Client; secrets: readonly ClientSecret[] }> {
    const found = await store.find(id);
    if (!found) throw new GatehouseError('ERR_CLIENT_NOT_FOUND', `There is no client ${id}`, { status: 404 });
    return found;
  }

  async function save(client: Client): Promise<Client> {
    const changed = { ...client, updatedAt: now() };
    if (!(await store.update(changed))) await stored(client.id);
    onChange(client.id);
    return changed;
  }

  const registry: ClientRegistry = {
    async create(fields) {
      const at = now();
      const checked = checkClientFields(fields, names);
      const client: Client = { ...checked, id: randomUUID(), disabled: false, createdAt: at, updatedAt: at };
      const first = client.confidential ? newSecret({ label: 'first' }) : undefined;
      await store.insert(client, first ? [first.secret] : []);
      return { client, secret: first?.value };
    },
    find: async (id) => (await store.find(id))?.client,
    list: async (query = {}) => store.list(query),
    async update(id, changes) {
      const { client } = await stored(id);
      const checked = checkClientFields({ ...client, ...changes, grantType: client.grantType }, names);
      return save({ ...client, ...checked });
    },
    disable: async (id) => save({ ...(await stored(id)).client, disabled: true }),
    enable: async (id) => save({ ...(await stored(id)).client, disabled: false }),
    async delete(id) {
      const removed = await store.remove(id);
      onChange(id);
      return removed;
    },
    secrets: async (id) => (await stored(id)).secrets,
    async addSecret(id, options = {}) {
      const { client } = await stored(id);
      if (!client.confidential) {
        throw new GatehouseError('ERR_CLIENT_INVALID', 'A public client has no secrets', { status: 422 });
      }
      const added = newSecret(options);
      await store.addSecret(id, added.secret);
      onChange(id);
      return added;
    },
    async removeSecret(id, secretId) {
      const removed = await store.removeSecret(id, secretId);
      onChange(id);
      return removed;
    },
    async rotateSecret(id, options = {}) {
      const { secrets } = await stored(id);
      const added = await registry.addSecret(id, options);
      for (const { id: secretId } of secrets) await registry.removeSecret(id, secretId);
      return added;
    },
  };
  return registry;
}

// The prefix lets secret scanners recognise it. Base64url has no character that HTTP Basic would have to encode.
const SECRET_PREFIX = 'gatehouse_secret_';

function newSecret({ label = '', expiresAt }: { label?: string; expiresAt?: number }): NewSecret {
  const value = SECRET_PREFIX + randomBytes(32).toString('base64url');
  const secret: ClientSecret = {
    id: randomUUID(),
    hash: hashCredential(value),
    label,
    hint: value.slice(-4),
    createdAt: now(),
    expiresAt,
    lastUsedAt: undefined,
  };
  return { secret, value };
}
