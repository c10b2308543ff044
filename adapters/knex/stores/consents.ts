import type { Consent, ConsentStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import { toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';

/** What people have authorized, remembered. */
export function consentStore(database: Database): ConsentStore {
  const conflict = database.dialect.onConflict({
    table: 'gatehouse_consents',
    key: ['user_id', 'client_id'],
    replace: ['scopes', 'updated_at'],
  });
  const save = `
    insert into gatehouse_consents (user_id, client_id, scopes, created_at, updated_at)
    values (?, ?, ?, ?, ?) ${conflict}`;

  return {
    async find(userId, clientId) {
      const row = await database.get<ConsentRow>(
        `select ${COLUMNS} from gatehouse_consents where user_id = ? and client_id = ?`,
        [userId, clientId],
      );
      return row && toConsent(row);
    },
    async save({ userId, clientId, scopes, createdAt, updatedAt }) {
      await database.run(save, [userId, clientId, JSON.stringify(scopes), createdAt, updatedAt]);
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

const COLUMNS = 'user_id, client_id, scopes, created_at, updated_at';

interface ConsentRow {
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly created_at: Integer;
  readonly updated_at: Integer;
}

function toConsent(row: ConsentRow): Consent {
  return {
    userId: row.user_id,
    clientId: row.client_id,
    scopes: toStrings(row.scopes),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}
