import type { IdempotencyStore, StoredRequest } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { statementsIn } from '../transact.ts';
import { integer, mapRows, optional, text } from '../rows.ts';
import type { Row } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/** Idempotent requests, by their `Idempotency-Key`, and their answers. */
export function idempotencyStore(database: Database): IdempotencyStore {
  const { countsConflicts } = database.dialect;
  const begin = `
    ${REQUESTS.insert}
    ${database.dialect.onConflict({
      table: 'gatehouse_idempotency',
      key: ['id'],
      replace: ['attempt', 'fingerprint', 'leased_until', 'expires_at', 'status', 'body'],
      when: IS_FREE,
    })}`;

  return {
    async begin(request, now) {
      const { id, fingerprint, attempt, answer } = request;
      const values = REQUESTS.values({ ...request, status: answer?.status, body: answer?.body });
      for (;;) {
        // One conditional write: of concurrent requests, one inserts or changes the row.
        const changed = await database.run(begin, [...values, now, now, fingerprint]);
        if (countsConflicts && changed > 0) return undefined;
        const row = await database.get<Row>(FIND, [id]);
        // Without a row, the first request was abandoned since the write: try again.
        const stored = row && toRequest(row);
        if (stored) return stored.attempt === attempt ? undefined : stored;
      }
    },
    async extend({ id, attempt }, leasedUntil) {
      return (await database.run(EXTEND, [leasedUntil, leasedUntil, leasedUntil, id, attempt])) > 0;
    },
    async finish({ id, attempt }, { status, body }, transaction) {
      const statements = transaction === undefined ? database : statementsIn(transaction);
      return (await statements.run(FINISH, [status, body, id, attempt])) > 0;
    },
    async abandon({ id, attempt }) {
      await database.run(ABANDON, [id, attempt]);
    },
  };
}

// An expired row counts as pruned. An unfinished row may be taken over only by the same request (fingerprint): another request
// with the same key must not continue a half-done attempt.
const IS_FREE = `
  gatehouse_idempotency.leased_until <= ? and (
    gatehouse_idempotency.expires_at < ?
    or (gatehouse_idempotency.status is null and gatehouse_idempotency.fingerprint = ?)
  )`;

interface RequestColumns extends Omit<StoredRequest, 'answer'> {
  readonly status: number | undefined;
  readonly body: string | undefined;
}

const REQUESTS = mapRows<RequestColumns>(CORE_TABLES.idempotency, {
  id: text('id'),
  fingerprint: text('fingerprint'),
  attempt: text('attempt'),
  leasedUntil: integer('leased_until'),
  expiresAt: integer('expires_at'),
  status: optional(integer('status')),
  body: optional(text('body')),
});

const FIND = `select ${REQUESTS.columns} from gatehouse_idempotency where id = ?`;

function toRequest(row: Row): StoredRequest {
  const { body = '', status, ...request } = REQUESTS.read(row);
  return { ...request, answer: status === undefined ? undefined : { status, body } };
}

// Also extends the expiry, because prune() would remove the row of a running request, and a second one could begin.
const EXTEND = `
  update gatehouse_idempotency
  set leased_until = ?, expires_at = case when expires_at < ? then ? else expires_at end
  where id = ? and attempt = ? and status is null`;

// When finished twice, the first answer stays, because it may have been returned to a repeated request already.
const FINISH = `
  update gatehouse_idempotency set status = coalesce(status, ?), body = coalesce(body, ?)
  where id = ? and attempt = ?`;

const ABANDON = 'delete from gatehouse_idempotency where id = ? and attempt = ? and status is null';
