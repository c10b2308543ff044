import type {
  LogoutDelivery,
  LogoutNotice,
  LogoutsLeftOut,
  LogoutStore,
  Seconds,
} from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements, Value } from '../statements.ts';
import { inList, isStorable } from '../column-values.ts';
import { integer, mapRows, optional, text } from '../rows.ts';
import type { Row, RowOfClient } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/** Clients that have to be told that users were signed out. */
export function logoutStore(database: Database): LogoutStore {
  return {
    async listDue({ except, limit, now }) {
      const rows = await database.all<DueRow>(...findDue({ except, limit, now }));
      // Another node may have taken one meanwhile.
      return rows.flatMap(({ client_id: clientId, id, owner_id: ownerId, uri }) =>
        id === null ? [] : [{ id, clientId, ownerId: ownerId || undefined, uri: uri ?? undefined }],
      );
    },
    async take(attempt, ids, { leasedUntil, now }) {
      if (ids.length === 0) return [];
      const { placeholders, values } = inList(ids);
      const taken = await database.run(
        `update gatehouse_logouts set attempt = ?, due_at = ? where id in ${placeholders} and due_at <= ?`,
        [attempt, leasedUntil, ...values, now],
      );
      // Another node was faster.
      if (taken === 0) return [];
      const rows = await database.all<TakenRow>(
        `select ${TAKEN.columns}, c.backchannel_logout_uri as uri
         from gatehouse_logouts l left join gatehouse_clients c on c.id = l.client_id
         where l.id in ${placeholders} and l.attempt = ?`,
        [...values, attempt],
      );
      return rows.map((row) => Object.assign(TAKEN.read(row), { uri: row.uri ?? undefined }));
    },
    async finish(attempts, { answeredAt, dueAt, error }) {
      for (let start = 0; start < attempts.length; start += BATCH) {
        const batch = attempts.slice(start, start + BATCH);
        const ids = inList(batch.map(({ id }) => id));
        const own = inList([...new Set(batch.map(({ attempt }) => attempt ?? ''))]);
        await database.run(
          `update gatehouse_logouts set answered_at = ?, due_at = ?, error = ?, attempts = attempts + 1, attempt = null
           where id in ${ids.placeholders} and attempt in ${own.placeholders}`,
          [answeredAt ?? null, dueAt ?? null, error ?? null, ...ids.values, ...own.values],
        );
      }
    },
    async findLatest(clientId) {
      if (!isStorable(clientId)) return undefined;
      const row = await database.get<Row>(LATEST_OF_CLIENT, [clientId]);
      return row && LOGOUTS.read(row);
    },
    async listLatest(userId) {
      if (!isStorable(userId)) return [];
      const rows = await database.all<Row>(LATEST_OF_USER, [userId]);
      const ofClients = Map.groupBy(rows.map(LOGOUTS.read), ({ clientId }) => clientId);
      return [...ofClients.values()].map(([latest]) => latest!);
    },
  };
}

// Rows of one statement, a power of two, see inList().
const BATCH = 256;

const LOGOUTS = mapRows<LogoutDelivery>(CORE_TABLES.logouts, {
  id: text('id'),
  clientId: text('client_id'),
  userId: text('user_id'),
  sessionUid: text('session_uid'),
  createdAt: integer('created_at'),
  ownerId: optional(text('owner_id')),
  dueAt: optional(integer('due_at')),
  attempts: integer('attempts'),
  attempt: optional(text('attempt')),
  answeredAt: optional(integer('answered_at')),
  error: optional(text('error')),
  expiresAt: integer('expires_at'),
});

const TAKEN = LOGOUTS.of('l');

interface TakenRow extends Row {
  readonly uri: string | null;
}

interface DueRow {
  readonly client_id: string;
  /** Empty: none. */
  readonly owner_id: string;
  readonly id: string | null;
  readonly uri: string | null;
}

// Grouped, because a client, or an owner, may have any number. So many times as many rows are read as are listed: of the oldest ones some
// get a place, or are left out the next time.
const FURTHER = 4;
const OWNER = "coalesce(owner_id, '')";

function findDue({
  except: { clientIds, owned, ownerIds },
  limit,
  now,
}: {
  readonly except: LogoutsLeftOut;
  readonly limit: number;
  readonly now: Seconds;
}): [sql: string, values: readonly Value[]] {
  const conditions = [
    { column: 'client_id', ids: clientIds },
    { column: OWNER, ids: ownerIds },
  ].flatMap(({ column, ids }) => {
    if (ids.length === 0) return [];
    const { placeholders, values } = inList(ids);
    return [{ sql: ` and ${column} not in ${placeholders}`, values }];
  });
  return [
    `select d.client_id, d.owner_id, c.backchannel_logout_uri as uri,
       (select l.id from gatehouse_logouts l
        where l.client_id = d.client_id and l.due_at = coalesce(d.first_at, d.next_at)
          and coalesce(l.owner_id, '') = d.owner_id and (d.first_at is null or l.attempts = 0) limit 1) as id
     from (
       select client_id, ${OWNER} as owner_id, min(case when attempts = 0 then due_at end) as first_at, min(due_at) as next_at
       from (
         select client_id, owner_id, attempts, due_at from gatehouse_logouts
         where due_at <= ?${owned ? ' and owner_id is null' : ''}${conditions.map(({ sql }) => sql).join('')}
         order by due_at limit ?
       ) l
       group by client_id, ${OWNER}
       order by case when ${OWNER} = '' then 0 else 1 end, case when min(attempts) = 0 then 0 else 1 end,
         coalesce(min(case when attempts = 0 then due_at end), min(due_at)) limit ?
     ) d left join gatehouse_clients c on c.id = d.client_id
     order by case when d.owner_id = '' then 0 else 1 end, case when d.first_at is null then 1 else 0 end,
       coalesce(d.first_at, d.next_at)`,
    [now, ...conditions.flatMap(({ values }) => values), limit * FURTHER, limit],
  ];
}

const LATEST_OF_CLIENT = `
  select ${LOGOUTS.columns} from gatehouse_logouts where client_id = ? order by created_at desc, id desc limit 1`;
const LATEST_OF_USER = `
  select ${LOGOUTS.columns} from gatehouse_logouts where user_id = ? order by created_at desc, id desc limit 1000`;

/** A row of a grant, by which a user may be signed in at its client. */
export interface SignInRow extends RowOfClient {
  /** `null`: the user is not signed in by it. */
  readonly session_uid: string | null;
}

/** The columns of {@link SignInRow}. */
export const SIGN_IN = 'id, client_id, session_uid';

/**
 * Stores which clients have to be told that their users are signed out: of each session one delivery to a client that has a
 * `backchannelLogoutUri`. Runs in the transaction that ends the grants, whose rows it has locked.
 */
export async function insertLogouts(
  statements: Statements,
  grants: readonly SignInRow[],
  { createdAt, expiresAt }: LogoutNotice,
): Promise<void> {
  const signIns = grants.filter(({ session_uid }) => session_uid !== null);
  const first = new Map(
    signIns.map(({ client_id: clientId, id, session_uid }) => [`${session_uid} ${clientId}`, id]),
  );
  const ids = [...first.values()];
  for (let start = 0; start < ids.length; start += BATCH) {
    const { placeholders, values } = inList(ids.slice(start, start + BATCH));
    await statements.run(
      `insert into gatehouse_logouts (id, client_id, user_id, session_uid, owner_id, created_at, due_at, attempts, expires_at)
       select g.id, g.client_id, g.user_id, g.session_uid, ${ANSWERABLE}, ?, ?, 0, ? from gatehouse_grants g
       join gatehouse_clients c on c.id = g.client_id and c.backchannel_logout_uri is not null
       where g.id in ${placeholders}`,
      [createdAt, createdAt, expiresAt, ...values],
    );
  }
}

// See `LogoutDelivery.ownerId` and `vouchedForBy()`.
const ANSWERABLE = `
  case when c.source <> 'manual' then g.user_id
       when c.first_party = 1 or c.verified = 1 then null
       else c.owner_id end`;

/**
 * Signs a user out where the grants of a session have signed the user in, also where they were revoked since by their client or as a
 * replay; runs in the transaction that deletes the session.
 */
export async function signOut(
  statements: Statements,
  forUpdate: string,
  { uid, user_id: userId }: { readonly uid: string; readonly user_id: string },
  notice: LogoutNotice,
): Promise<void> {
  const grants = await statements.all<SignInRow>(
    `select ${SIGN_IN} from gatehouse_grants where user_id = ? and session_uid = ?${forUpdate}`,
    [userId, uid],
  );
  if (grants.length === 0) return;
  await insertLogouts(statements, grants, notice);
  // In one statement: each of several would read all grants of the user.
  await statements.run(
    `update gatehouse_grants set session_uid = null where user_id = ? and session_uid = ?`,
    [userId, uid],
  );
}
