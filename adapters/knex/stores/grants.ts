import { setImmediate as nextTurn } from 'node:timers/promises';

import type { GrantSelector, GrantStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import { GRANT_COLUMNS, toGrant } from './grant-rows.ts';
import type { GrantRow } from './grant-rows.ts';
import { inList } from './in-list.ts';

// SQLite blocks the thread while it marks a batch, and a server locks its rows. A power of two, see in-list.ts.
const BATCH = 256;

/** Grants: found by id or by user, and ended. */
export function grantStore(database: Database): GrantStore {
  const { dialect } = database;
  const conflict = dialect.onConflict({
    table: 'gatehouse_revocations',
    key: ['kind', 'value'],
    greatest: ['revoked_at', 'expires_at'],
  });

  async function revokeSome(selector: GrantSelector, at: number): Promise<readonly string[]> {
    const { condition, values } = toCondition(selector);
    return database.transaction(async (statements) => {
      const live = await statements.all<{ id: string }>(
        `select id from gatehouse_grants where ${condition} and revoked_at is null limit ?${dialect.forUpdate}`,
        [...values, BATCH],
      );
      const ids = live.map(({ id }) => id);
      if (ids.length === 0) return ids;
      const marked = inList(ids);
      await statements.run(`update gatehouse_grants set revoked_at = ? where id in ${marked.placeholders}`, [
        at,
        ...marked.values,
      ]);
      await statements.run(
        `insert into gatehouse_revocations (kind, value, revoked_at, expires_at)
         select 'grant', id, revoked_at, needed_until from gatehouse_grants
         where id in ${marked.placeholders} ${conflict}`,
        marked.values,
      );
      return ids;
    });
  }

  return {
    async find(id) {
      const row = await database.get<GrantRow>(FIND, [id]);
      return row && toGrant(row);
    },
    async list(userId) {
      return (await database.all<GrantRow>(LIST, [userId])).map(toGrant);
    },
    async revoke(selector, at) {
      const revoked: string[] = [];
      for (;;) {
        const batch = await revokeSome(selector, at);
        revoked.push(...batch);
        if (batch.length < BATCH) return revoked;
        await nextTurn();
      }
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
