import type { LogoutDelivery, LogoutNotice, LogoutStore, Seconds } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements, Value } from '../statements.ts';
import { inList, isStorable } from './column-values.ts';
import { firstOfEachClient, integer, mapRows, optional, text } from './rows.ts';
import type { Row, RowOfClient } from './rows.ts';

/** Clients that have to be told that users were signed out. */
export function logoutStore(database: Database): LogoutStore {
  return {
    async take(attempt, { except, leasedUntil, limit, now, perClient }) {
      for (;;) {
        const due = await database.all<RowOfClient>(...findDue({ except, limit: limit * FURTHER, now }));
        if (due.length === 0) return [];
        const { placeholders, values } = inList(firstOfEachClient(due, perClient).slice(0, limit));
        const taken = await database.run(
          `update gatehouse_logouts set attempt = ?, due_at = ?, attempts = attempts + 1
           where id in ${placeholders} and due_at <= ?`,
          [attempt, leasedUntil, ...values, now],
        );
        // Another node was faster: look further.
        if (taken === 0) continue;
        const rows = await database.all<TakenRow>(
          `select ${TAKEN.columns}, c.backchannel_logout_uri as uri
           from gatehouse_logouts l left join gatehouse_clients c on c.id = l.client_id
           where l.id in ${placeholders} and l.attempt = ?`,
          [...values, attempt],
        );
        return rows.map((row) => Object.assign(TAKEN.read(row), { uri: row.uri ?? undefined }));
      }
    },
    async finish(attempts, { answeredAt, dueAt, error }) {
      for (let start = 0; start < attempts.length; start += BATCH) {
        const batch = attempts.slice(start, start + BATCH);
        const ids = inList(batch.map(({ id }) => id));
        const own = inList([...new Set(batch.map(({ attempt }) => attempt ?? ''))]);
        await database.run(
          `update gatehouse_logouts set answered_at = ?, due_at = ?, error = ?
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

// So many times as many rows are read as are taken, because only a few of each client are taken.
const FURTHER = 4;

const LOGOUTS = mapRows<LogoutDelivery>('gatehouse_logouts', {
  id: text('id'),
  clientId: text('client_id'),
  userId: text('user_id'),
  sessionUid: text('session_uid'),
  createdAt: integer('created_at'),
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

function findDue({
  except,
  limit,
  now,
}: {
  readonly except: readonly string[];
  readonly limit: number;
  readonly now: Seconds;
}): [sql: string, values: readonly Value[]] {
  const left = except.length > 0 ? inList(except) : undefined;
  return [
    `select id, client_id from gatehouse_logouts
     where due_at <= ? ${left ? `and client_id not in ${left.placeholders}` : ''} order by due_at, id limit ?`,
    [now, ...(left?.values ?? []), limit],
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
      `insert into gatehouse_logouts (id, client_id, user_id, session_uid, created_at, due_at, attempts, expires_at)
       select g.id, g.client_id, g.user_id, g.session_uid, ?, ?, 0, ? from gatehouse_grants g
       join gatehouse_clients c on c.id = g.client_id and c.backchannel_logout_uri is not null
       where g.id in ${placeholders}`,
      [createdAt, createdAt, expiresAt, ...values],
    );
  }
}

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
