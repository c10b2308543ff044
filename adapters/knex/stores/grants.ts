import type { GrantSelector, GrantStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import { GRANT_COLUMNS, toGrant } from './grant-rows.ts';
import type { GrantRow } from './grant-rows.ts';

/** Grants: found by id or by user, and ended. */
export function grantStore(database: Database): GrantStore {
  const { dialect } = database;
  const conflict = dialect.onConflict({
    table: 'gatehouse_revocations',
    key: ['kind', 'value'],
    greatest: ['revoked_at', 'expires_at'],
  });

  return {
    async find(id) {
      const row = await database.get<GrantRow>(FIND, [id]);
      return row && toGrant(row);
    },
    async list(userId) {
      return (await database.all<GrantRow>(LIST, [userId])).map(toGrant);
    },
    async revoke(selector, at) {
      const { condition, values } = toCondition(selector);
      return database.transaction(async (statements) => {
        const live = await statements.all<{ id: string }>(
          `select id from gatehouse_grants where ${condition} and revoked_at is null${dialect.forUpdate}`,
          values,
        );
        if (live.length === 0) return [];
        await statements.run(
          `update gatehouse_grants set revoked_at = ? where ${condition} and revoked_at is null`,
          [at, ...values],
        );
        // Selected by the mark, so that no grant is ever marked and not recorded.
        await statements.run(
          `insert into gatehouse_revocations (kind, value, revoked_at, expires_at)
           select 'grant', id, revoked_at, needed_until from gatehouse_grants
           where ${condition} and revoked_at = ? ${conflict}`,
          [...values, at],
        );
        return live.map(({ id }) => id);
      });
    },
  };
}

const FIND = `select ${GRANT_COLUMNS} from gatehouse_grants g where g.id = ?`;

const LIST = `select ${GRANT_COLUMNS} from gatehouse_grants g where g.user_id = ? order by g.created_at, g.id`;

function toCondition(selector: GrantSelector): { readonly condition: string; readonly values: string[] } {
  if ('id' in selector) return { condition: 'id = ?', values: [selector.id] };
  if (!('userId' in selector)) return { condition: 'client_id = ?', values: [selector.clientId] };
  const { userId, clientId } = selector;
  return clientId === undefined
    ? { condition: 'user_id = ?', values: [userId] }
    : { condition: 'user_id = ? and client_id = ?', values: [userId, clientId] };
}
