import { setImmediate as nextTurn } from 'node:timers/promises';

import type { GrantSelector, GrantStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { inList } from './column-values.ts';
import { GRANT_COLUMNS, toGrant } from './credential-rows.ts';
import type { GrantRow } from './credential-rows.ts';

// SQLite blocks the thread while it updates a batch, and a server locks its rows. A power of two, see inList().
const BATCH = 256;

/** Grants, which are inserted with their code by the credential store. */
export function grantStore(database: Database): GrantStore {
  const { forUpdate } = database.dialect;

  async function revokeSome(selector: GrantSelector, at: number): Promise<readonly string[]> {
    const { condition, values } = toCondition(selector);
    return database.transaction(async (statements) => {
      const live = await statements.all<{ id: string }>(
        `select id from gatehouse_grants where ${condition} and revoked_at is null limit ?${forUpdate}`,
        [...values, BATCH],
      );
      const ids = live.map(({ id }) => id);
      if (ids.length > 0) {
        const marked = inList(ids);
        // With the condition, because for a list of ids alone PostgreSQL may read the whole table.
        const sql = `update gatehouse_grants set revoked_at = ? where ${condition} and id in ${marked.placeholders}`;
        await statements.run(sql, [at, ...values, ...marked.values]);
      }
      return ids;
    });
  }

  return {
    async find(id) {
      const row = await database.get<GrantRow>(FIND, [id]);
      return row && toGrant(row);
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

// `coalesce` keeps the databases from using the index on the client, which would read the grants of all its users.
const OF_USER = `user_id = ? and coalesce(client_id, '') = ?`;

function toCondition(selector: GrantSelector): { readonly condition: string; readonly values: string[] } {
  return 'id' in selector
    ? { condition: 'id = ?', values: [selector.id] }
    : { condition: OF_USER, values: [selector.userId, selector.clientId] };
}
