import type { FoundSession, SessionStore, StoredSession } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { isStorable, toOptionalNumber } from '../column-values.ts';
import type { Integer } from '../column-values.ts';
import { HOSTS } from './consents.ts';
import { writeEnd, writeEndsOfGrants } from './ends.ts';
import type { WrittenEnds } from './ends.ts';
import { notEnded, UNLESS_USER_ENDED } from '../ends.ts';
import { SEQUENCE } from './revocations.ts';
import { integer, json, mapRows, text } from '../rows.ts';
import type { Row } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';
import type { Statements } from '../statements.ts';

/** Login sessions of browsers. */
export function sessionStore(database: Database, written: WrittenEnds): SessionStore {
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
    async update({ id, payload, expiresAt }) {
      return (await database.run(UPDATE, [JSON.stringify(payload), expiresAt, id])) > 0;
    },
    async delete(id) {
      await database.run(DELETE, [id]);
    },
    async end(id) {
      const ended = await database.transaction(async (statements) => {
        const session = await statements.get<EndedRow>(FIND_ENDED, [id]);
        await statements.run(DELETE, [id]);
        if (session) await endSession(statements, session);
        return session;
      });
      if (ended) written.emit('session', { userId: ended.user_id });
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
// As for the revocation of the grants of a user, see there.
const LIVE_OF_CLIENT = `g.user_id = s.user_id and coalesce(g.client_id, '') = ? and g.revoked_at is null`;
const FIND_WITH_CONSENT = `
  select ${SESSION}, (select c.created_at ${OF_CLIENT}) as consented_at, (select c.hosts ${OF_CLIENT}) as hosts,
    (select count(*) from gatehouse_grants g where ${LIVE_OF_CLIENT}) as grants ${IS_FOUND}`;

const UPDATE = 'update gatehouse_sessions set payload = ?, expires_at = ? where id = ?';

const DELETE = 'delete from gatehouse_sessions where id = ?';

/** Ends what a session has signed its user in by; runs in the transaction that deletes it. */
async function endSession(statements: Statements, { uid, user_id: userId }: EndedRow): Promise<void> {
  await writeEnd(statements, { kind: 'session', value: uid, userId });
  // Also those that were revoked since by their client or as a replay: the user is still signed in there.
  const signIns = { sql: 'user_id = ? and session_uid = ?', values: [userId, uid] };
  await writeEndsOfGrants(statements, signIns, { kind: 'sign_in', by: 'owner' });
  // A code of the session that is exchanged meanwhile signs nobody in. In one statement: each of several would read all grants of the user.
  await statements.run(`update gatehouse_grants set session_uid = null where ${signIns.sql}`, signIns.values);
}

const FIND_ENDED = 'select uid, user_id from gatehouse_sessions where id = ?';

interface EndedRow {
  readonly uid: string;
  readonly user_id: string;
}

interface SessionRow extends Row {
  readonly user_id: string;
  readonly latest_sequence: Integer;
  /** `null`: the user has not consented to the client. */
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
