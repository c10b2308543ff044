import { now } from '../../contracts/clock.ts';
import { toSortName } from '../../contracts/client-search.ts';
import type { Client, ClientStore, Seconds, StoredClient } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect, RemovableRows } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';
import { deleteInBatches } from './batches.ts';
import { listClients } from './client-lists.ts';
import { writeNames } from './client-names.ts';
import { CLIENT_ROW, CLIENT_ROW_AS_C, SECRET_ROW, SECRET_ROW_AS_S, toStoredClient } from './client-rows.ts';
import type { StoredClientRow } from './client-rows.ts';
import { isStorable } from '../rows.ts';
import { TABLES } from '../tables.ts';
import { writeAdmission } from './ends.ts';
import type { WrittenEnds } from './ends.ts';
import { end } from './revocations.ts';

/** Registered clients and their secrets. */
export function clientStore(database: Database, written: WrittenEnds): ClientStore {
  return {
    async find(id) {
      return isStorable(id) ? toStoredClient(await database.all<StoredClientRow>(FIND, [id])) : undefined;
    },
    async insert(client, secrets) {
      await database.transaction(async (statements) =>
        insertClient(statements, database.dialect, { client, secrets }),
      );
    },
    async update(client, ifUpdatedAt) {
      const isChanged = await database.transaction(async (statements) =>
        updateClient(statements, database.dialect, client, ifUpdatedAt),
      );
      if (isChanged) written.emit('admission', { clientId: client.id });
      return isChanged;
    },
    async updateLogo(client, picture, ifUpdatedAt) {
      const image = picture ? Buffer.from(picture).toString('base64') : null;
      return database.transaction(async (statements) => {
        const isChanged = await updateClient(statements, database.dialect, client, ifUpdatedAt);
        if (isChanged) await statements.run(SET_IMAGE, [image, client.id]);
        return isChanged;
      });
    },
    async findLogo(clientId, hash) {
      if (![clientId, hash].every(isStorable)) return undefined;
      const found = await database.get<{ image: string | null }>(FIND_IMAGE, [clientId, hash]);
      return found?.image ? Buffer.from(found.image, 'base64') : undefined;
    },
    async delete(id, ifUpdatedAt) {
      // First and in one transaction: without its row and its secrets, the client gets no token any more.
      const removed = await database.transaction(async (statements) => {
        if (ifUpdatedAt !== undefined && (await statements.run(LOCK_VERSION, [id, ifUpdatedAt])) === 0)
          return undefined;
        let isGone = false;
        for (const sql of id === '' ? [] : DELETE_OF_FEATURES)
          isGone = (await statements.run(sql, [id])) > 0 || isGone;
        if (isGone) return deleteForGood(statements, database.dialect, id);
        // Tokens of this client must not become valid again when a client is registered with the same id later.
        await end(statements, database.dialect, { clientId: id });
        return deleteClient(statements, id);
      });
      if (removed === undefined) return false;
      written.emit('client', { clientId: id });
      await removeDependent(database, id);
      return removed > 0;
    },
    async list(query) {
      return listClients(database, query);
    },
    async addSecret(clientId, secret) {
      return database.transaction(async (statements) => {
        const isFound = (await statements.run(LOCK, [clientId])) > 0;
        if (isFound) await statements.run(ADD_SECRET, [...SECRET_ROW.values(secret), clientId]);
        return isFound;
      });
    },
    async deleteSecret(clientId, secretId) {
      if (![clientId, secretId].every(isStorable)) return false;
      return (await database.run(DELETE_SECRET, [clientId, secretId])) > 0;
    },
    async expireSecret(clientId, secretId, expiresAt) {
      await database.run(EXPIRE_SECRET, [expiresAt, clientId, secretId, expiresAt]);
    },
    async touchSecret(clientId, secretId, at) {
      await database.run(TOUCH_SECRET, [at, clientId, secretId, at]);
    },
    async rehashSecret(clientId, secretId, { from, to }) {
      return (await database.run(REHASH_SECRET, [to, clientId, secretId, from])) > 0;
    },
    async redeemAssertion(id, expiresAt) {
      return database.insertUnlessStored(INSERT_ASSERTION, [id, expiresAt]);
    },
  };
}

/** Replaces the fields of a client; runs inside a transaction. Resolves to `false` as `ClientStore.update` does. */
async function updateClient(
  statements: Statements,
  dialect: Dialect,
  client: Client,
  ifUpdatedAt: Seconds | undefined,
): Promise<boolean> {
  await writeAdmission(statements, client, ifUpdatedAt);
  const [id, ...others] = toValues(client);
  const values = [...others, id!];
  const changed =
    ifUpdatedAt === undefined
      ? await statements.run(UPDATE, values)
      : await statements.run(`${UPDATE} and updated_at = ?`, [...values, ifUpdatedAt]);
  if (changed > 0) await writeNames(statements, dialect, client);
  return changed > 0;
}

/** Inserts a client with its secrets; runs inside a transaction. */
export async function insertClient(
  statements: Statements,
  dialect: Dialect,
  { client, secrets }: Pick<StoredClient, 'client' | 'secrets'>,
): Promise<void> {
  await statements.run(INSERT, toValues(client));
  await writeNames(statements, dialect, client);
  for (const secret of secrets) await statements.run(ADD_SECRET, [...SECRET_ROW.values(secret), client.id]);
}

/** Deletes a client with its secrets; runs inside a transaction. Resolves to the number of clients. */
export async function deleteClient(statements: Statements, id: string): Promise<number> {
  // The client's row is deleted first, because a transaction that adds rows to the tables below has changed the client's row before that.
  const deleted = await statements.run('delete from gatehouse_clients where id = ?', [id]);
  await statements.run('delete from gatehouse_client_secrets where client_id = ?', [id]);
  await statements.run('delete from gatehouse_client_names where client_id = ?', [id]);
  return deleted;
}

/** Ends and deletes a client whose id no client gets again; runs inside a transaction. Resolves to the number of clients. */
export async function deleteForGood(statements: Statements, dialect: Dialect, id: string): Promise<number> {
  await end(statements, dialect, { clientId: id });
  // Strangers must not add rows that stay.
  await statements.run(EXPIRE_END, [now() + LONGEST_REQUEST, id]);
  return deleteClient(statements, id);
}

/** Removes the consents and grants of a client that was deleted. */
export async function removeDependent(database: Database, id: string): Promise<void> {
  // Codes and refresh tokens are found only through their grant, so they become invalid with it; prune() removes them.
  for (const rows of dependentRows(id)) await deleteInBatches(database, rows);
}

/** The consents and the grants of a client. */
export function dependentRows(id: string): readonly RemovableRows[] {
  const ofClient = { condition: 'client_id = ?', values: [id] };
  return [
    { table: 'gatehouse_consents', key: ['user_id', 'client_id'], ...ofClient },
    { table: 'gatehouse_grants', key: ['id'], ...ofClient },
  ];
}

const DELETE_OF_FEATURES = TABLES.flatMap(({ client, name }) =>
  client === undefined ? [] : [`delete from ${name} where ${client} = ?`],
);

// A request that found the client before it was deleted has stored its grant by then.
const LONGEST_REQUEST: Seconds = 86_400;

const EXPIRE_END = "update gatehouse_revocations set expires_at = ? where kind = 'client' and value = ?";

const FIND = `
  select ${CLIENT_ROW_AS_C.columns}, ${SECRET_ROW_AS_S.columns}, e.sequence, a.sequence as all_sequence
  from gatehouse_clients c left join gatehouse_client_secrets s on s.client_id = c.id
    left join gatehouse_revocations e on e.kind = 'client' and e.value = c.id
    left join gatehouse_revocations a on a.kind = 'all' and a.value = ''
  where c.id = ?`;

// A change and no `select ... for update`, because a Galera cluster does not replicate locks.
const LOCK = 'update gatehouse_clients set lock_count = lock_count + 1 where id = ?';

const LOCK_VERSION = `${LOCK} and updated_at = ?`;

const SORT_NAME = 'sort_name';

const INSERT = CLIENT_ROW.insertWith(SORT_NAME);

/** Its values are those of all columns but the id, and then the id. */
const UPDATE = `
  update gatehouse_clients set ${CLIENT_ROW.names
    .slice(1)
    .map((name) => `${name} = ?`)
    .join(', ')}, ${SORT_NAME} = ?
  where id = ?`;

// Not among the columns of a client, so that the queries that find clients do not read it.
const SET_IMAGE = 'update gatehouse_clients set logo_image = ? where id = ?';

const FIND_IMAGE = 'select logo_image as image from gatehouse_clients where id = ? and logo = ?';

/** The values of {@link INSERT}. */
function toValues(client: Client): Value[] {
  return [...CLIENT_ROW.values(client), toSortName(client.name)];
}

const ADD_SECRET = SECRET_ROW.insertWith('client_id');

const DELETE_SECRET = 'delete from gatehouse_client_secrets where client_id = ? and id = ?';

const EXPIRE_SECRET = `
  update gatehouse_client_secrets set expires_at = ?
  where client_id = ? and id = ? and (expires_at is null or expires_at > ?)`;

// Conditional, because a later time may have been written first.
const TOUCH_SECRET = `
  update gatehouse_client_secrets set last_used_at = ?
  where client_id = ? and id = ? and (last_used_at is null or last_used_at < ?)`;

const REHASH_SECRET =
  'update gatehouse_client_secrets set hash = ? where client_id = ? and id = ? and hash = ?';

const INSERT_ASSERTION = 'insert into gatehouse_assertions (id, expires_at) values (?, ?)';
