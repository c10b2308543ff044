import { toSeconds } from '../../contracts/duration.ts';
import type {
  Credential,
  FoundCredential,
  GrantSelector,
  GrantStore,
  UsableGrant,
} from '../../contracts/index.ts';
import { unusedGrants } from '../../contracts/unused-grants.ts';
import type { Database } from '../database.ts';
import type { Condition } from '../dialect.ts';
import { firstOfEachClient, inList, isStorable, toOptionalNumber } from '../rows.ts';
import type { Integer, Row, RowOfClient } from '../rows.ts';
import { CREDENTIALS, GRANTS, USABLE_GRANTS, WITH_LIVE_GRANT } from './grant-rows.ts';
import { grantInserter } from './insert-grant.ts';
import { redeemer } from './redemption.ts';
import { GRANT_IS_LIVE } from './revocations.ts';
import type { WrittenEnds } from './ends.ts';
import { BY_ID, revokeGrants } from './revoke-grants.ts';

interface SignInRow {
  readonly id: string;
  readonly session_uid: string | null;
}

const REFRESH_TOKEN: Credential['kind'] = 'refresh_token';

/** Grants with their credentials. */
export function grantStore(database: Database, written: WrittenEnds): GrantStore {
  const { canChangeInQueries, clock, forUpdate } = database.dialect;
  const insertGrant = grantInserter(database);

  const findCredential = `
    select ${FOUND_CREDENTIAL.columns}, ${FOUND_GRANT.columns}, ${clock} as clock
    ${WITH_LIVE_GRANT}`;

  // A subquery of one row, because with a join PostgreSQL would read the whole table for each row while it has no statistics of the
  // table.
  const next = canChangeInQueries
    ? `cross join lateral (
         select * from gatehouse_credentials where id = chain.id and kind = '${REFRESH_TOKEN}' limit 1
       ) c`
    : `join gatehouse_credentials c on c.id = chain.id and c.kind = '${REFRESH_TOKEN}'`;
  // Each row leads to the next by the primary key; an index of the credentials of a grant would cost a write with each refresh.
  const findChain = `
    with recursive chain (id, place) as (
      select c.id, 1 ${WITH_LIVE_GRANT}
      union all
      select c.successor_id, chain.place + 1
      from chain ${next}
      where c.successor_id is not null and chain.place < ?
    )
    select ${FOUND_CREDENTIAL.columns}, ${clock} as clock
    from chain ${next}
    order by chain.place`;

  return {
    insert: async (grant, credential, prerequisites = {}) => insertGrant(grant, credential, prerequisites),
    async find(id) {
      const row = await database.get<Row>(FIND, [id]);
      return row && GRANTS.read(row);
    },
    async findCredential(kind, id) {
      const row = await database.get<FoundRow>(findCredential, [id, kind, id, kind]);
      return row && { ...toFound(row), grant: FOUND_GRANT.read(row) };
    },
    async findChain(id, limit) {
      const rows = await database.all<FoundRow>(findChain, [id, REFRESH_TOKEN, id, REFRESH_TOKEN, limit]);
      return rows.map(toFound);
    },
    async list(userId, { now, limit }) {
      if (!isStorable(userId)) return [];
      const usable = await database.all<RowOfClient>(LIST, [userId, now]);
      return readInOrder(database, firstOfEachClient(usable, limit));
    },
    async touch(id, at) {
      await database.run(TOUCH, [at, id, at]);
    },
    redeem: redeemer(database),
    async revoke(selector, at, by = 'owner') {
      const revoked = await revokeGrants(database, toCondition(selector), {
        at,
        by,
        connection: 'id' in selector ? undefined : selector,
      });
      // Emitted also when nothing was left to revoke: another node may have revoked the grant a moment ago, while this node has it
      // cached.
      written.emit('grant', 'id' in selector ? { grantId: selector.id } : { userId: selector.userId });
      return revoked;
    },
    async endUnused({ clientId, kept, userId }, most, at) {
      const rows = await database.all<SignInRow>(LAST_USED, [userId, clientId, at]);
      const live = rows.map(({ id, session_uid: uid }) => ({ id, sessionUid: uid ?? undefined }));
      const { ended, needless } = unusedGrants(live, kept, most);
      const revoked = [];
      for (const ids of batchesOf(ended)) {
        const { placeholders, values } = inList(ids);
        const condition = { sql: `user_id = ? and id in ${placeholders}`, values: [userId, ...values] };
        revoked.push(...(await revokeGrants(database, condition, { at, by: undefined, order: BY_ID })));
      }
      // After the grants have ended: when the process dies in between, the other rows stay until they expire.
      for (const ids of batchesOf(needless)) {
        await database.transaction(async (statements) => {
          const listed = inList(ids);
          const needed = await statements.all<Pick<SignInRow, 'id'>>(
            `${NEEDED} and id in ${listed.placeholders} ${BY_ID}${forUpdate}`,
            [userId, at, ...listed.values],
          );
          if (needed.length === 0) return;
          const { placeholders, values } = inList(needed.map(({ id }) => id));
          await statements.run(`${FORGET} and id in ${placeholders}`, [at, userId, ...values]);
        });
      }
      for (const grantId of revoked) written.emit('grant', { grantId });
      return revoked;
    },
  };
}

const FOUND_CREDENTIAL = CREDENTIALS.of('c');
// The grant's id is the `grant_id` of the credential.
const FOUND_GRANT = GRANTS.of('g', 'grant_');

interface FoundRow extends Row {
  readonly clock: Integer | null;
}

function toFound(row: FoundRow): Omit<FoundCredential, 'grant'> {
  const credential = FOUND_CREDENTIAL.read(row);
  const { consumedAt, expiresAt } = credential;
  const at = toOptionalNumber(row.clock) ?? Date.now();
  return {
    credential,
    expiresIn: expiresAt - Math.floor(toSeconds(at)),
    spentFor: consumedAt === undefined ? undefined : at - consumedAt,
  };
}

const FIND = `select ${GRANTS.columns} from gatehouse_grants where id = ?`;

// `coalesce` keeps the databases from using the index on the client, which would read the grants of all its users.
const OF_USER = `user_id = ? and coalesce(client_id, '') = ?`;

// Read once for all clients of the user. A client may have many grants, so only the grants that are listed are read whole.
const LIST = `
  select id, client_id from gatehouse_grants g where user_id = ? and ${GRANT_IS_LIVE} and needed_until > ?
  order by coalesce(last_used_at, created_at) desc, id`;

// Rows of one statement, a power of two, see inList().
const BATCH = 256;

function batchesOf(ids: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / BATCH) }, (_, index) =>
    ids.slice(index * BATCH, (index + 1) * BATCH),
  );
}

async function readInOrder(database: Database, ids: readonly string[]): Promise<UsableGrant[]> {
  const found = new Map<string, UsableGrant>();
  for (const batch of batchesOf(ids)) {
    const { placeholders, values } = inList(batch);
    const rows = await database.all<Row>(
      `select ${USABLE_GRANTS.columns} from gatehouse_grants g where id in ${placeholders} and ${GRANT_IS_LIVE}`,
      values,
    );
    for (const grant of rows.map(USABLE_GRANTS.read)) found.set(grant.id, grant);
  }
  // A grant may have been revoked meanwhile.
  return ids.flatMap((id) => found.get(id) ?? []);
}

const LAST_USED = `
  select id, client_id, session_uid from gatehouse_grants where ${OF_USER} and revoked_at is null and needed_until > ?
  order by coalesce(last_used_at, created_at) desc, id`;

// Before the update, which would lock the rows in the order of its plan.
const NEEDED = 'select id from gatehouse_grants where user_id = ? and needed_until > ?';
const FORGET = 'update gatehouse_grants set session_uid = null, needed_until = ? where user_id = ?';

// Conditional, because a later time may have been written first.
const TOUCH = `
  update gatehouse_grants set last_used_at = ? where id = ? and (last_used_at is null or last_used_at < ?)`;

function toCondition(selector: GrantSelector): Condition {
  return 'id' in selector
    ? { sql: 'id = ?', values: [selector.id] }
    : { sql: OF_USER, values: [selector.userId, selector.clientId] };
}
