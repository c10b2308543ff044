import type { Client, Seconds } from '../../contracts/index.ts';
import { integer, isStorable, mapRows, text } from '../../database/rows.ts';
import type { Integer, Row } from '../../database/rows.ts';
import type { CoreSteps, Database } from '../../database/database.ts';
import { USER_IS_NOT_ENDED } from '../../database/ends.ts';
import type { Statements, Value } from '../../database/statements.ts';
import { REGISTRATION_TABLE } from './tables.ts';
import type { RegistrationPlaces, RegistrationStore, StoredRegistration } from './types.ts';

/** Registrations of clients that registered themselves. */
export function registrationStore(database: Database, core: CoreSteps): RegistrationStore {
  const addCounter = `
    insert into gatehouse_registrations
      (client_id, token_hash, auth_method, removable_at, unused_after, network)
    values ('', '', '', ${Number.MAX_SAFE_INTEGER}, 0, '')
    ${database.dialect.onConflict({ table: 'gatehouse_registrations', key: ['client_id'] })}`;

  /**
   * Changes one row, so that registrations wait for each other here and count one after the other. The row is changed instead of locked,
   * because a Galera cluster does not replicate locks.
   */
  async function lockCounter(statements: Statements): Promise<void> {
    if ((await statements.run(LOCK, [''])) > 0) return;
    await statements.run(addCounter);
    await statements.run(LOCK, ['']);
  }

  return {
    async insert({ client, secrets, registration }, places) {
      const displaced = await database.transaction(async (statements) => {
        await lockCounter(statements);
        const { count } = (await statements.get<{ count: Integer }>(COUNT))!;
        const isFull = Number(count) >= places.limit;
        const found = isFull ? await displaceOneClient(core, statements, places) : undefined;
        if (isFull && !found) return undefined;
        await core.insertClient(statements, { client, secrets });
        await statements.run(INSERT, REGISTRATIONS.values(registration));
        return found ? [found] : [];
      });
      for (const { id } of displaced ?? []) await core.removeDependent(id);
      return displaced;
    },
    async find(clientId) {
      if (!isStorable(clientId)) return undefined;
      const row = await database.get<Row>(FIND, [clientId]);
      return row && REGISTRATIONS.read(row);
    },
    async removeToken(clientId) {
      if (isStorable(clientId)) await database.run(REMOVE_TOKEN, [clientId]);
    },
    async addConsent(consent, sequence = Number.MAX_SAFE_INTEGER) {
      const { clientId, updatedAt, userId } = consent;
      return database.transaction(async (statements) => {
        const values = [updatedAt, updatedAt, userId, userId, clientId, userId, sequence];
        const isKept = (await statements.run(KEEP, values)) > 0;
        if (isKept) await core.addConsent(statements, consent);
        return isKept;
      });
    },
    async deleteUnused(now, limit) {
      const found = await database.all<RemovableRow>(FIND_REMOVABLE, [now, limit]);
      const deleted: Pick<Client, 'id' | 'name'>[] = [];
      for (const { client_id: id, unused_after: unusedAfter } of found) {
        const client = await deleteIfUnused(database, core, { id, now, unusedAfter: Number(unusedAfter) });
        if (client) deleted.push(client);
      }
      return { deleted, seen: found.length };
    },
  };
}

/** Deletes the client that gives way, except its consents and grants, which do not count without it. */
async function displaceOneClient(
  { deleteForGood }: CoreSteps,
  statements: Statements,
  { now, perUser, unusedSince }: RegistrationPlaces,
): Promise<Pick<Client, 'id' | 'name'> | undefined> {
  const claims: readonly (readonly [string, readonly Value[]])[] = [
    [UNAUTHORIZED, [now]],
    [OF_ONE_USER, [perUser]],
    [UNUSED_BY_ONE_USER, [unusedSince]],
  ];
  for (const [select, values] of claims) {
    const found = await statements.all<{ id: string; name: string; version: Integer }>(select, values);
    for (const { id, name, version } of found) {
      // A consent changes the version, so a consent that came after the rows were read keeps the client.
      if ((await statements.run(DISPLACE, [id, Number(version)])) === 0) continue;
      await deleteForGood(statements, id);
      return { id, name };
    }
  }
  return undefined;
}

/** Deletes a client with all that depends on it in one transaction, or a part of its many consents or grants. */
async function deleteIfUnused(
  database: Database,
  { deleteClient, dependentRows }: CoreSteps,
  { id, now, unusedAfter }: { readonly id: string; readonly now: Seconds; readonly unusedAfter: Seconds },
): Promise<Pick<Client, 'id' | 'name'> | undefined> {
  const { dialect } = database;
  return database.transaction(async (statements) => {
    // From here on a consent waits. After an earlier consent, the registration is not removable.
    if ((await statements.run(LOCK_REMOVABLE, [id, now])) === 0) return undefined;
    const client = await statements.get<{ name: string; disabled: number }>(
      `${FIND_CLIENT}${dialect.forUpdate}`,
      [id],
    );
    if (
      client?.disabled === 1 ||
      (await isUsed(statements, dialect.forUpdate, { id, now, since: now - unusedAfter }))
    ) {
      await statements.run(POSTPONE, [now + unusedAfter, id]);
      return undefined;
    }
    for (const rows of dependentRows(id)) {
      // The rest is deleted by the next call, which finds the registration again.
      if ((await dialect.deleteSome(statements, rows, BATCH)) === BATCH) return undefined;
    }
    await statements.run('delete from gatehouse_registrations where client_id = ?', [id]);
    // No end of the client is stored, because it has no grant, and no other client gets its id.
    await deleteClient(statements, id);
    return client && { id, name: client.name };
  });
}

/** Whether a client is used. Locks the rows that show that it is not. */
async function isUsed(
  statements: Statements,
  forUpdate: string,
  { id, now, since }: { readonly id: string; readonly now: Seconds; readonly since: Seconds },
): Promise<boolean> {
  if (await statements.get(USED_CONSENT, [id, since, since])) return true;
  // Locks the consents before the grants: a grant under way has changed its consent, so it is committed when this returns.
  await statements.all(`${CONSENTS}${forUpdate}`, [id, BATCH]);
  const grant = await statements.get(`${USED_GRANT}${forUpdate}`, [id, now, since, since]);
  return grant !== undefined;
}

// Rows of a client that are deleted in one transaction.
const BATCH = 200;

const LOCK = 'update gatehouse_registrations set lock_count = lock_count + 1 where client_id = ?';

const LOCK_REMOVABLE = `${LOCK} and removable_at < ?`;

const COUNT = "select count(*) as count from gatehouse_registrations where client_id <> ''";

const REGISTRATIONS = mapRows<StoredRegistration>(REGISTRATION_TABLE, {
  clientId: text('client_id'),
  tokenHash: text('token_hash'),
  authMethod: text('auth_method'),
  removableAt: integer('removable_at'),
  unusedAfter: integer('unused_after'),
  network: text('network'),
});

const INSERT = REGISTRATIONS.insert;

const FIND = `
  select ${REGISTRATIONS.columns} from gatehouse_registrations where client_id = ? and client_id <> ''`;

const REMOVE_TOKEN = "update gatehouse_registrations set token_hash = '' where client_id = ?";

const FIND_REMOVABLE = `
  select client_id, unused_after from gatehouse_registrations where removable_at < ?
  order by removable_at limit ?`;

const KEEP = `
  update gatehouse_registrations set lock_count = lock_count + 1,
    removable_at = case when removable_at < ? + unused_after then ? + unused_after else removable_at end,
    user_id = case when user_id is null or user_id = ? then ? else '' end
  where client_id = ? and client_id <> '' and ${USER_IS_NOT_ENDED}`;

const DISPLACE = 'delete from gatehouse_registrations where client_id = ? and lock_count = ?';

// More than one candidate, in case the first one has just got a consent.
const CANDIDATES = 5;

const UNAUTHORIZED = `
  select r.client_id as id, c.name, r.lock_count as version from gatehouse_registrations r
    join gatehouse_clients c on c.id = r.client_id
    join (
      select network, count(*) as size from gatehouse_registrations
      where user_id is null and client_id <> '' group by network
    ) n on n.network = r.network
  where r.user_id is null and c.disabled = 0
    and not exists (
      select 1 from gatehouse_grants g
      where g.client_id = r.client_id and g.revoked_at is null and g.needed_until >= ?
    )
  order by n.size desc, r.removable_at, r.client_id limit ${CANDIDATES}`;

// A withdrawn consent leaves no row, so its time counts as 0.
const LAST_USED = `
  case when coalesce(k.last_used_at, 0) > k.updated_at then k.last_used_at else coalesce(k.updated_at, 0) end`;

const BY_ONE_USER = `
  from gatehouse_registrations r
    join gatehouse_clients c on c.id = r.client_id
    left join gatehouse_consents k on k.user_id = r.user_id and k.client_id = r.client_id`;

const OF_ONE_USER = `
  select r.client_id as id, c.name, r.lock_count as version ${BY_ONE_USER}
    join (
      select user_id, count(*) as size from gatehouse_registrations where user_id <> '' group by user_id
      having count(*) > ?
    ) u on u.user_id = r.user_id
  where c.disabled = 0
  order by u.size desc, ${LAST_USED}, r.client_id limit ${CANDIDATES}`;

const UNUSED_BY_ONE_USER = `
  select r.client_id as id, c.name, r.lock_count as version ${BY_ONE_USER}
  where r.user_id <> '' and c.disabled = 0 and ${LAST_USED} < ?
  order by ${LAST_USED}, r.client_id limit ${CANDIDATES}`;

const POSTPONE = 'update gatehouse_registrations set removable_at = ? where client_id = ?';

const FIND_CLIENT = 'select name, disabled from gatehouse_clients where id = ?';

const USED_CONSENT = `
  select 1 as used from gatehouse_consents where client_id = ? and (updated_at > ? or last_used_at > ?) limit 1`;

const CONSENTS = 'select user_id from gatehouse_consents where client_id = ? limit ?';

const USED_GRANT = `
  select id from gatehouse_grants
  where client_id = ? and ((revoked_at is null and needed_until >= ?) or created_at > ? or revoked_at > ?) limit 1`;

interface RemovableRow {
  readonly client_id: string;
  readonly unused_after: Integer;
}
