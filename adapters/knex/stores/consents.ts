import type { Consent, ConsentStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import { toOptionalNumber, toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** What people have authorized, remembered. */
export function consentStore(database: Database): ConsentStore {
  const conflict = database.dialect.onConflict({
    table: 'gatehouse_consents',
    key: ['user_id', 'client_id'],
    greatest: ['updated_at'],
  });
  const open = `
    insert into gatehouse_consents (${COLUMNS}) values (?, ?, ?, ?, ?, ?) ${conflict}`;
  const findScopes = `${FIND_SCOPES}${database.dialect.forUpdate}`;

  return {
    async find(userId, clientId) {
      const row = await database.get<ConsentRow>(
        `select ${COLUMNS} from gatehouse_consents where user_id = ? and client_id = ?`,
        [userId, clientId],
      );
      return row && toConsent(row);
    },
    async add({ userId, clientId, scopes, createdAt, updatedAt, lastUsedAt }) {
      const values = [userId, clientId, merged([], scopes), createdAt, updatedAt, lastUsedAt ?? null];
      await database.transaction(async (statements) => {
        // Whether it inserts or changes: from here on nobody else changes the row, or removes it.
        await statements.run(open, values);
        const row = await statements.get<Pick<ConsentRow, 'scopes'>>(findScopes, [userId, clientId]);
        const before = row!.scopes;
        const after = merged(toStrings(before), scopes);
        if (after !== before) await statements.run(SET_SCOPES, [after, userId, clientId]);
      });
    },
    async touch(userId, clientId, at) {
      await database.run(TOUCH, [at, userId, clientId, at]);
    },
    async remove(userId, clientId) {
      const removed = await database.run(
        'delete from gatehouse_consents where user_id = ? and client_id = ?',
        [userId, clientId],
      );
      return removed > 0;
    },
    async list(userId) {
      const rows = await database.all<ConsentRow>(
        `select ${COLUMNS} from gatehouse_consents where user_id = ? order by created_at, client_id`,
        [userId],
      );
      return rows.map(toConsent);
    },
  };
}

const COLUMNS = 'user_id, client_id, scopes, created_at, updated_at, last_used_at';

const FIND_SCOPES = 'select scopes from gatehouse_consents where user_id = ? and client_id = ?';

const SET_SCOPES = 'update gatehouse_consents set scopes = ? where user_id = ? and client_id = ?';

function merged(before: readonly string[], scopes: readonly string[]): string {
  return JSON.stringify([...new Set([...before, ...scopes])].toSorted());
}

// Notes that overtake each other leave the latest.
const TOUCH = `
  update gatehouse_consents set last_used_at = ?
  where user_id = ? and client_id = ? and (last_used_at is null or last_used_at < ?)`;

interface ConsentRow {
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly created_at: Integer;
  readonly updated_at: Integer;
  readonly last_used_at: Integer | null;
}

function toConsent(row: ConsentRow): Consent {
  return {
    userId: row.user_id,
    clientId: row.client_id,
    scopes: toStrings(row.scopes),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    lastUsedAt: toOptionalNumber(row.last_used_at),
  };
}
