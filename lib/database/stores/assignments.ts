import type { AssignmentStore } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { toStrings } from '../rows.ts';

/** Role assignments: roles and permissions of users. */
export function assignmentStore(database: Database): AssignmentStore {
  const save = `
    insert into gatehouse_assignments (user_id, roles, permissions) values (?, ?, ?)
    ${database.dialect.onConflict({
      table: 'gatehouse_assignments',
      key: ['user_id'],
      replace: ['roles', 'permissions'],
    })}`;

  return {
    async find(userId) {
      const row = await database.get<{ roles: string; permissions: string }>(
        'select roles, permissions from gatehouse_assignments where user_id = ?',
        [userId],
      );
      if (!row) return { roles: [], permissions: [] };
      return { roles: toStrings(row.roles), permissions: toStrings(row.permissions) };
    },
    async save(userId, { roles, permissions }) {
      await database.run(save, [userId, JSON.stringify(roles), JSON.stringify(permissions)]);
    },
    async delete(userId) {
      return (await database.run('delete from gatehouse_assignments where user_id = ?', [userId])) > 0;
    },
  };
}
