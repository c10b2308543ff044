import { integer, isStorable, json, mapRows, optional, text } from '../../database/rows.ts';
import type { CoreSteps, Database } from '../../database/database.ts';
import type { Row } from '../../database/rows.ts';
import { DEVICE_CODE_TABLE } from './tables.ts';
import type { DeviceCode, DeviceCodeStore } from './types.ts';

/** Device authorization requests. */
export function deviceCodeStore(database: Database, { grantSteps }: CoreSteps): DeviceCodeStore {
  async function find(sql: string, id: string): Promise<DeviceCode | undefined> {
    const row = isStorable(id) ? await database.get<Row>(sql, [id]) : undefined;
    return row && CODES.read(row);
  }

  return {
    async insert(code) {
      await database.run(CODES.insert, CODES.values(code));
    },
    find: async (id) => find(`${SELECT} where id = ?`, id),
    findByUserCode: async (userCodeId) => find(`${SELECT} where user_code = ?`, userCodeId),
    async poll(id, { at, since }) {
      return (await database.run(POLL, [at, id, since])) > 0;
    },
    async approve(grant, credential, prerequisites, now) {
      // One conditional write first: of concurrent answers one changes the row; the others wait here and then change none.
      const answer = { sql: ANSWER, values: ['approved', credential.id, now], needs: 'change' } as const;
      return (
        (await database.runSteps([answer, ...grantSteps(grant, credential, prerequisites)])) !== undefined
      );
    },
    async deny(id, now) {
      return (await database.run(ANSWER, ['denied', id, now])) > 0;
    },
  };
}

const CODES = mapRows<DeviceCode>(DEVICE_CODE_TABLE, {
  id: text('id'),
  userCodeId: text('user_code'),
  clientId: text('client_id'),
  payload: json('payload'),
  createdAt: integer('created_at'),
  expiresAt: integer('expires_at'),
  keptUntil: integer('kept_until'),
  sequence: integer('sequence'),
  answer: optional(text('answer')),
  polledAt: optional(integer('polled_at')),
});

const SELECT = `select ${CODES.columns} from gatehouse_device_codes`;

// Finds the row by its primary key, and changes a column without an index.
const POLL = `
  update gatehouse_device_codes set polled_at = ? where id = ? and (polled_at is null or polled_at <= ?)`;

const ANSWER = `
  update gatehouse_device_codes set answer = ? where id = ? and answer is null and expires_at > ?`;
