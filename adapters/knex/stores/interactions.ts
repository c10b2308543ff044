import type { InteractionStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import { toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** Open logins and consents. */
export function interactionStore(database: Database): InteractionStore {
  const save = `
    insert into gatehouse_interactions (id, payload, expires_at) values (?, ?, ?)
    ${database.dialect.onConflict({
      table: 'gatehouse_interactions',
      key: ['id'],
      replace: ['payload', 'expires_at'],
    })}`;

  return {
    async save({ id, payload, expiresAt }) {
      await database.run(save, [id, JSON.stringify(payload), expiresAt]);
    },
    async find(id) {
      const row = await database.get<{ id: string; payload: string; expires_at: Integer }>(
        'select id, payload, expires_at from gatehouse_interactions where id = ?',
        [id],
      );
      return row && { id: row.id, payload: toPayload(row.payload), expiresAt: Number(row.expires_at) };
    },
    async remove(id) {
      await database.run('delete from gatehouse_interactions where id = ?', [id]);
    },
  };
}
