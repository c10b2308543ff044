import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Grant, GrantSelector, GrantStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { inList, toOptionalNumber, toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** The columns of a {@link GrantRow}, selected from `gatehouse_grants g`. */
export const GRANT_COLUMNS = `
  g.id as grant_id, g.user_id, g.client_id, g.scopes, g.created_at as grant_created_at,
  g.expires_at as grant_expires_at, g.revoked_at, g.sequence`;

export interface GrantRow {
  readonly grant_id: string;
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly grant_created_at: Integer;
  readonly grant_expires_at: Integer;
  readonly revoked_at: Integer | null;
  readonly sequence: Integer | null;
}

export function toGrant(row: GrantRow): Grant {
  return {
    id: row.grant_id,
    userId: row.user_id,
    clientId: row.client_id,
    scopes: toStrings(row.scopes),
    createdAt: Number(row.grant_created_at),
    expiresAt: Number(row.grant_expires_at),
    revokedAt: toOptionalNumber(row.revoked_at),
    sequence: Number(row.sequence),
  };
}

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
        const sql = `update gatehouse_grants set revoked_at = ? where id in ${marked.placeholders}`;
        await statements.run(sql, [at, ...marked.values]);
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

function toCondition(selector: GrantSelector): { readonly condition: string; readonly values: string[] } {
  return 'id' in selector
    ? { condition: 'id = ?', values: [selector.id] }
    : { condition: 'user_id = ? and client_id = ?', values: [selector.userId, selector.clientId] };
}
