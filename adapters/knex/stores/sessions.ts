import type { SessionStore, StoredSession } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';
import { notAllEnded } from './revocations.ts';

/** Login sessions of browsers. */
export function sessionStore(database: Database): SessionStore {
  return {
    async insert({ id, uid, userId, payload, expiresAt, sequence }) {
      await database.run(INSERT, [id, uid, userId, JSON.stringify(payload), expiresAt, sequence]);
    },
    async find(id) {
      const row = await database.get<SessionRow>(FIND, [id]);
      return row && { session: toSession(row), sequence: Number(row.latest_sequence) };
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
const FIND = `
  select s.id, s.uid, s.user_id, s.payload, s.expires_at, s.sequence, n.sequence as latest_sequence
  from gatehouse_sessions s join gatehouse_revocations n on n.kind = 'sequence' and n.value = ''
  where s.id = ? and s.user_id is not null and not exists (
    select 1 from gatehouse_revocations u
    where u.kind = 'user' and u.value = s.user_id and u.sequence > coalesce(s.sequence, 0)
  ) and ${notAllEnded('s')}`;

const UPDATE = 'update gatehouse_sessions set payload = ?, expires_at = ? where id = ?';

interface SessionRow {
  readonly id: string;
  readonly uid: string;
  readonly user_id: string;
  readonly payload: string;
  readonly expires_at: Integer;
  readonly sequence: Integer | null;
  readonly latest_sequence: Integer;
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
