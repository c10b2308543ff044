import type { FoundSession, SessionStore, StoredSession } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { isStorable, toOptionalNumber } from '../column-values.ts';
import type { Integer } from '../column-values.ts';
import { HOSTS } from './consents.ts';
import { signOut } from './logouts.ts';
import { notEnded, UNLESS_USER_ENDED } from '../ends.ts';
import { SEQUENCE } from './revocations.ts';
import { integer, json, mapRows, text } from '../rows.ts';
import type { Row } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/** Login sessions of browsers. */
export function sessionStore(database: Database): SessionStore {
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
    async update({ id, payload, expiresAt }) {
      return (await database.run(UPDATE, [JSON.stringify(payload), expiresAt, id])) > 0;
    },
    async delete(id, notice) {
      if (!notice) {
        await database.run(DELETE, [id]);
        return;
      }
      await database.transaction(async (statements) => {
        const session = await statements.get<EndedRow>(FIND_ENDED, [id]);
        await statements.run(DELETE, [id]);
        if (session) await signOut(statements, forUpdate, session, notice);
      });
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
