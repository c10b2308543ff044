import type { DeviceCode, DeviceCodeStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { isStorable, toOptionalNumber, toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';
import { insertInSteps } from './insert-grant.ts';

/** Device authorization requests. */
export function deviceCodeStore(database: Database): DeviceCodeStore {
  const insertGrant = insertInSteps(database);

  async function find(sql: string, id: string): Promise<DeviceCode | undefined> {
    const row = isStorable(id) ? await database.get<DeviceCodeRow>(sql, [id]) : undefined;
    return row && toDeviceCode(row);
  }

  return {
    async insert(code) {
      await database.run(INSERT, [
        code.id,
        code.userCodeId,
        code.clientId,
        JSON.stringify(code.payload),
        code.createdAt,
        code.expiresAt,
        code.keptUntil,
        code.sequence,
        code.answer ?? null,
        code.polledAt ?? null,
      ]);
    },
    find: async (id) => find(`${SELECT} where id = ?`, id),
    findByUserCode: async (userCodeId) => find(`${SELECT} where user_code = ?`, userCodeId),
    async poll(id, { at, since }) {
      return (await database.run(POLL, [at, id, since])) > 0;
    },
    async approve(grant, credential, prerequisites, now) {
      return database.transaction(async (statements) => {
        // One conditional write first: of concurrent answers one changes the row; the others wait here and then change none.
        if ((await statements.run(ANSWER, ['approved', credential.id, now])) === 0) return false;
        if (await insertGrant(statements, grant, credential, prerequisites)) return true;
        await statements.run(REOPEN, [credential.id]);
        return false;
      });
    },
    async deny(id, now) {
      return (await database.run(ANSWER, ['denied', id, now])) > 0;
    },
  };
}

const COLUMNS =
  'id, user_code, client_id, payload, created_at, expires_at, kept_until, sequence, answer, polled_at';

const INSERT = `insert into gatehouse_device_codes (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const SELECT = `select ${COLUMNS} from gatehouse_device_codes`;

// By the primary key, and of a column without an index.
const POLL = `
  update gatehouse_device_codes set polled_at = ? where id = ? and (polled_at is null or polled_at <= ?)`;

const ANSWER = `
  update gatehouse_device_codes set answer = ? where id = ? and answer is null and expires_at > ?`;

const REOPEN = 'update gatehouse_device_codes set answer = null where id = ?';

interface DeviceCodeRow {
  readonly id: string;
  readonly user_code: string;
  readonly client_id: string;
  readonly payload: string;
  readonly created_at: Integer;
  readonly expires_at: Integer;
  readonly kept_until: Integer;
  readonly sequence: Integer;
  readonly answer: NonNullable<DeviceCode['answer']> | null;
  readonly polled_at: Integer | null;
}

function toDeviceCode(row: DeviceCodeRow): DeviceCode {
  return {
    id: row.id,
    userCodeId: row.user_code,
    clientId: row.client_id,
    payload: toPayload(row.payload),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    keptUntil: Number(row.kept_until),
    sequence: Number(row.sequence),
    answer: row.answer ?? undefined,
    polledAt: toOptionalNumber(row.polled_at),
  };
}
