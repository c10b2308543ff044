import { setImmediate as nextTurn } from 'node:timers/promises';

import type { FoundSession, GrantOrigin, SessionStore, StoredSession } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { inList, integer, isStorable, json, mapRows, optional, text, toOptionalNumber } from '../rows.ts';
import type { Integer, Row } from '../rows.ts';
import { HOSTS } from './consents.ts';
import { writeEnd, writeEndsOfGrants } from './ends.ts';
import type { WrittenEnds } from './ends.ts';
import { notEnded, UNLESS_USER_ENDED } from '../ends.ts';
import { SEQUENCE } from './revocations.ts';
import { BY_ID } from './revoke-grants.ts';
import { CORE_TABLES } from '../tables.ts';
import type { Statements } from '../statements.ts';

/** Login sessions of browsers. */
export function sessionStore(database: Database, written: WrittenEnds): SessionStore {
  const { forUpdate } = database.dialect;
  return {
    async insert(session) {
      await database.run(INSERT, [...SESSIONS.values(session), session.userId, session.sequence]);
    },
    async find(id, clientId) {
      const named = clientId !== undefined && isStorable(clientId) ? clientId : undefined;
      const row = await (named === undefined
        ? database.get<SessionRow>(FIND, [id])
        : database.get<SessionRow>(FIND_WITH_CONSENT, [named, named, named, id]));
      return (
        row && {
          session: OF_SESSION.read(row),
          sequence: Number(row.latest_sequence),
          consent: named === undefined ? undefined : toConsent(row, named),
          grants: Number(row.grants ?? 0),
        }
      );
    },
    async update({ id, payload, expiresAt, lastUsedAt }) {
      return (await database.run(UPDATE, [JSON.stringify(payload), expiresAt, lastUsedAt, id])) > 0;
    },
    async delete(id) {
      await database.run(DELETE, [id]);
    },
    async end(id, userId) {
      if (!isStorable(id)) return false;
      const ended = await database.transaction(async (statements) => {
        const session = await statements.get<EndedRow>(`${FIND_ENDED} where id = ?`, [id]);
        if (!session || session.user_id !== (userId ?? session.user_id)) return undefined;
        return (await endSessions(statements, session.user_id, [session])) > 0 ? session : undefined;
      });
      if (ended) written.emit('session', { userId: ended.user_id });
      return ended !== undefined;
    },
    async endOthers(userId, kept, now) {
      if (!isStorable(userId)) return 0;
      const endBatch = async (statements: Statements): Promise<{ found: number; ended: number }> => {
        const found = await statements.all<EndedRow>(FIND_OTHERS + forUpdate, [userId, kept, now, BATCH]);
        return { found: found.length, ended: await endSessions(statements, userId, found) };
      };
      for (let ended = 0; ;) {
        const batch = await database.transaction(endBatch);
        if (batch.ended > 0) written.emit('session', { userId });
        ended += batch.ended;
        if (batch.found < BATCH) return ended;
        await nextTurn();
      }
    },
    async deleteOfUser(userId) {
      return database.run('delete from gatehouse_sessions where user_id = ?', [userId]);
    },
  };
}

const SESSIONS = mapRows<StoredSession>(CORE_TABLES.sessions, {
  id: text('id'),
  uid: text('uid'),
  userId: text('user_id'),
  payload: json('payload'),
  expiresAt: integer('expires_at'),
  sequence: integer('sequence'),
  origin: optional(json<GrantOrigin>('origin')),
  lastUsedAt: integer('last_used_at'),
});

const INSERT = `${SESSIONS.insertFor()} ${UNLESS_USER_ENDED}`;

const OF_SESSION = SESSIONS.of('s');

// One statement, so that the sequence and the session are read at the same moment: no end of the user lies in between.
const SESSION = `${OF_SESSION.columns}, (${SEQUENCE}) as latest_sequence`;
const IS_FOUND = `from gatehouse_sessions s
  where s.id = ? and ${notEnded('s', ['user', 'all'])}`;
const FIND = `select ${SESSION} ${IS_FOUND}`;

// Subqueries, because PostgreSQL may plan a join by the client alone, and a client can have many users (see `notEnded`).
const OF_CLIENT = 'from gatehouse_consents c where c.user_id = s.user_id and c.client_id = ?';
// `coalesce` for the reason that `OF_USER` in `grants.ts` gives.
const LIVE_OF_CLIENT = `g.user_id = s.user_id and coalesce(g.client_id, '') = ? and g.revoked_at is null`;
const FIND_WITH_CONSENT = `
  select ${SESSION}, (select c.created_at ${OF_CLIENT}) as consented_at, (select c.hosts ${OF_CLIENT}) as hosts,
    (select count(*) from gatehouse_grants g where ${LIVE_OF_CLIENT}) as grants ${IS_FOUND}`;

const UPDATE = 'update gatehouse_sessions set payload = ?, expires_at = ?, last_used_at = ? where id = ?';

const DELETE = 'delete from gatehouse_sessions where id = ?';

/** Deletes sessions of a user, and ends the sign-ins at clients that they have led to; runs in a transaction. Resolves to their number. */
async function endSessions(
  statements: Statements,
  userId: string,
  sessions: readonly EndedRow[],
): Promise<number> {
  if (sessions.length === 0) return 0;
  const ids = inList(sessions.map(({ id }) => id));
  const ended = await statements.run(
    `delete from gatehouse_sessions where id in ${ids.placeholders}`,
    ids.values,
  );
  // Another call has ended the session meanwhile: several are locked before.
  if (ended === 0) return 0;
  for (const { uid } of sessions) await writeEnd(statements, { kind: 'session', value: uid, userId });
  const uids = inList(sessions.map(({ uid }) => uid));
  // Includes grants that were revoked since by their client or as a replay: the user is still signed in at that client.
  const signIns = {
    sql: `user_id = ? and session_uid in ${uids.placeholders}`,
    values: [userId, ...uids.values],
  };
  await writeEndsOfGrants(statements, signIns, { kind: 'sign_in', by: 'owner' });
  // A code of a session that is exchanged meanwhile then signs nobody in. One statement for all grants, because each of several
  // statements would read all grants of the user.
  await statements.run(`update gatehouse_grants set session_uid = null where ${signIns.sql}`, signIns.values);
  return ended;
}

/** A condition on a session `s`: it has not expired at a time, and was not ended with its user. */
export const SESSION_IS_LIVE: string = `s.expires_at > ? and ${notEnded('s', ['user', 'all'])}`;

const FIND_ENDED = 'select id, uid, user_id from gatehouse_sessions s';
const FIND_OTHERS = `${FIND_ENDED} where s.user_id = ? and s.id <> ? and ${SESSION_IS_LIVE} ${BY_ID} limit ?`;

// Sessions that one transaction ends. A power of two, see inList().
const BATCH = 64;

interface EndedRow {
  readonly id: string;
  readonly uid: string;
  readonly user_id: string;
}

interface SessionRow extends Row {
  readonly user_id: string;
  readonly latest_sequence: Integer;
  /** `null` when the user has not consented to the client. */
  readonly consented_at: Integer | null;
  readonly hosts: string | null;
  /** Absent when no client was named. */
  readonly grants?: Integer;
}

function toConsent(
  { consented_at, hosts, user_id: userId }: SessionRow,
  clientId: string,
): FoundSession['consent'] {
  const createdAt = toOptionalNumber(consented_at);
  return createdAt === undefined ? undefined : { userId, clientId, hosts: HOSTS.toMember(hosts), createdAt };
}
