import type { FoundSession, SessionStore, StoredSession } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { isStorable, toOptionalNumber, toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';
import { toHosts } from './consents.ts';
import { notEnded, SEQUENCE } from './revocations.ts';

/** Login sessions of browsers. */
export function sessionStore(database: Database): SessionStore {
  return {
    async insert({ id, uid, userId, payload, expiresAt, sequence }) {
      await database.run(INSERT, [id, uid, userId, JSON.stringify(payload), expiresAt, sequence]);
    },
    async find(id, clientId) {
      const named = clientId !== undefined && isStorable(clientId) ? clientId : undefined;
      const row = await (named === undefined
        ? database.get<SessionRow>(FIND, [id])
        : database.get<SessionRow>(FIND_WITH_CONSENT, [named, named, id]));
      return (
        row && {
          session: toSession(row),
          sequence: Number(row.latest_sequence),
          consent: named === undefined ? undefined : toConsent(row, named),
        }
      );
    },
    async update({ id, payload, expiresAt }) {
      return (await database.run(UPDATE, [JSON.stringify(payload), expiresAt, id])) > 0;
    },
    async delete(id) {
      await database.run('delete from gatehouse_sessions where id = ?', [id]);
    },
    async deleteOfUser(userId) {
      return database.run('delete from gatehouse_sessions where user_id = ?', [userId]);
    },
  };
}

const INSERT = `
  insert into gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence) values (?, ?, ?, ?, ?, ?)`;

// One statement, so that the sequence and the session are read at the same moment: no end of the user lies in between.
const SESSION = `s.id, s.uid, s.user_id, s.payload, s.expires_at, s.sequence, (${SEQUENCE}) as latest_sequence`;
const IS_FOUND = `from gatehouse_sessions s
  where s.id = ? and s.user_id is not null and ${notEnded('s', ['user', 'all'])}`;
const FIND = `select ${SESSION} ${IS_FOUND}`;

// Subqueries, because PostgreSQL may plan a join by the client alone, and a client can have many users (see `notEnded`).
const OF_CLIENT = 'from gatehouse_consents c where c.user_id = s.user_id and c.client_id = ?';
const FIND_WITH_CONSENT = `
  select ${SESSION}, (select c.created_at ${OF_CLIENT}) as consented_at, (select c.hosts ${OF_CLIENT}) as hosts ${IS_FOUND}`;

const UPDATE = 'update gatehouse_sessions set payload = ?, expires_at = ? where id = ?';

interface SessionRow {
  readonly id: string;
  readonly uid: string;
  readonly user_id: string;
  readonly payload: string;
  readonly expires_at: Integer;
  readonly sequence: Integer | null;
  readonly latest_sequence: Integer;
  /** `null`: the user has not consented to the client. */
  readonly consented_at?: Integer | null;
  readonly hosts?: string | null;
}

function toSession(row: SessionRow): StoredSession {
  return {
    id: row.id,
    uid: row.uid,
    userId: row.user_id,
    payload: toPayload(row.payload),
    expiresAt: Number(row.expires_at),
    sequence: Number(row.sequence),
  };
}

function toConsent(
  { consented_at, hosts = null, user_id: userId }: SessionRow,
  clientId: string,
): FoundSession['consent'] {
  const createdAt = toOptionalNumber(consented_at ?? null);
  return createdAt === undefined ? undefined : { userId, clientId, hosts: toHosts(hosts), createdAt };
}
