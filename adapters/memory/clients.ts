import { toBeginnings, toSearched, toSortName } from '../../lib/contracts/client-search.ts';
import type { Client, ClientQuery, ClientSecret, ClientStore, Seconds } from '../../lib/contracts/index.ts';
import { changeRow, copy, end, endOfClient, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Registered clients and their secrets. */
export function clientStore(tables: Tables): ClientStore {
  const { assertions, clients, registrations } = tables;

  const secretsOf = (clientId: string) => clients.get(clientId)?.secrets;

  function update(client: Client, ifUpdatedAt: Seconds | undefined) {
    const row = clients.get(client.id);
    if (!row || row.client.updatedAt !== (ifUpdatedAt ?? row.client.updatedAt)) return undefined;
    row.client = copy(client);
    return row;
  }

  return {
    async find(id) {
      const row = clients.get(id);
      if (!row) return undefined;
      const secrets = [...row.secrets.values()].toSorted(
        (a, b) => a.createdAt - b.createdAt || compare(a.id, b.id),
      );
      return copy({ client: row.client, secrets, sequence: endOfClient(tables, id) });
    },
    async insert(client, secrets) {
      insertClient(tables, client, secrets);
    },
    async update(client, ifUpdatedAt) {
      return update(client, ifUpdatedAt) !== undefined;
    },
    async updateLogo(client, picture, ifUpdatedAt) {
      const row = update(client, ifUpdatedAt);
      if (row) row.logo = copy(picture);
      return row !== undefined;
    },
    async findLogo(clientId, hash) {
      const row = clients.get(clientId);
      return row?.client.logo === hash ? copy(row.logo) : undefined;
    },
    async delete(id, ifUpdatedAt) {
      if (ifUpdatedAt !== undefined && clients.get(id)?.client.updatedAt !== ifUpdatedAt) return false;
      end(tables, { clientId: id });
      registrations.delete(id);
      return deleteClient(tables, id);
    },
    async list(query) {
      return select(
        [...clients.values()].map(({ client }) => client),
        query,
      ).map(copy);
    },
    async addSecret(clientId, secret) {
      return secretsOf(clientId)?.set(secret.id, copy(secret)) !== undefined;
    },
    async deleteSecret(clientId, secretId) {
      return secretsOf(clientId)?.delete(secretId) ?? false;
    },
    async expireSecret(clientId, secretId, at) {
      changeRow(
        secretsOf(clientId),
        secretId,
        ({ expiresAt = Infinity }) => at < expiresAt && { expiresAt: at },
      );
    },
    async touchSecret(clientId, secretId, at) {
      changeRow(secretsOf(clientId), secretId, ({ lastUsedAt = 0 }) => at > lastUsedAt && { lastUsedAt: at });
    },
    async rehashSecret(clientId, secretId, { from, to }) {
      return changeRow(secretsOf(clientId), secretId, ({ hash }) => hash === from && { hash: to });
    },
    async redeemAssertion(id, expiresAt) {
      const isFirst = !assertions.has(id);
      if (isFirst) assertions.set(id, { expiresAt });
      return isFirst;
    },
  };
}

/** @throws StorageError when a client with this id exists */
export function insertClient({ clients }: Tables, client: Client, secrets: readonly ClientSecret[]): void {
  throwIfTaken(clients, client.id);
  clients.set(client.id, {
    client: copy(client),
    secrets: new Map(secrets.map((secret) => [secret.id, copy(secret)])),
  });
}

/** Deletes a client with its consents and grants. */
export function deleteClient({ clients, consents, grants, soleUsers }: Tables, id: string): boolean {
  soleUsers.delete(id);
  for (const [key, { clientId }] of consents) if (clientId === id) consents.delete(key);
  for (const [key, { grant }] of grants) if (grant.clientId === id) grants.delete(key);
  return clients.delete(id);
}

function select(clients: Client[], { search = '', ownerId, after, limit = 50 }: ClientQuery): Client[] {
  const searched = toSearched(search);
  const ordered = clients
    .filter((client) => ownerId === undefined || client.ownerId === ownerId)
    .flatMap((client) => {
      const order = searched === '' ? toSortName(client.name) : findBeginning(client, search, searched);
      return order === undefined ? [] : [{ client, order }];
    })
    .toSorted((a, b) => compare(a.order, b.order) || compare(a.client.id, b.client.id))
    .map(({ client }) => client);
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  // The last client of the previous page was deleted or renamed, so the start of this page is unknown.
  if (after !== undefined && start === 0) return [];
  return ordered.slice(start, start + limit);
}

/** By what a search finds a client: '' for its id, which is first. */
function findBeginning({ id, name }: Client, search: string, searched: string): string | undefined {
  if (id === search.trim()) return '';
  return toBeginnings(name)
    .toSorted(compare)
    .find((beginning) => beginning.startsWith(searched));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
