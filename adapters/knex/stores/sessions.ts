import type { SessionStore, StoredSession } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import { toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** Login sessions of browsers. */
export function sessionStore(database: Database): SessionStore {
  const save = `
    insert into gatehouse_sessions (id, uid, user_id, payload, expires_at) values (?, ?, ?, ?, ?)
    ${database.dialect.onConflict({
      table: 'gatehouse_sessions',
      key: ['id'],
      replace: ['uid', 'user_id', 'payload', 'expires_at'],
    })}`;

  return {
    async save({ id, uid, userId, payload, expiresAt }) {
      await database.run(save, [id, uid, userId ?? null, JSON.stringify(payload), expiresAt]);
    },
    async find(id) {
      const row = await database.get<SessionRow>(`${SELECT} where id = ?`, [id]);
      return row && toSession(row);
    },
    async findByUid(uid) {
      // A session that is given a new id is there twice until the old row is removed.
      const row = await database.get<SessionRow>(`${SELECT} where uid = ? order by expires_at desc limit 1`, [
        uid,
      ]);
      return row && toSession(row);
    },
    async remove(id) {
      await database.run('delete from gatehouse_sessions where id = ?', [id]);
    },
    async removeOfUser(userId) {
      return database.run('delete from gatehouse_sessions where user_id = ?', [userId]);
    },
  };
}

const SELECT = 'select id, uid, user_id, payload, expires_at from gatehouse_sessions';

interface SessionRow {
  readonly id: string;
  readonly uid: string;
  readonly user_id: string | null;
  readonly payload: string;
  readonly expires_at: Integer;
}

function toSession(row: SessionRow): StoredSession {
  return {
    id: row.id,
    uid: row.uid,
    userId: row.user_id ?? undefined,
    payload: toPayload(row.payload),
    expiresAt: Number(row.expires_at),
  };
}
