import type { IdempotencyStore, StoredRequest } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { statementsIn } from '../transact.ts';
import type { Integer } from './column-values.ts';

/** Idempotent requests, by their `Idempotency-Key`, and their answers. */
export function idempotencyStore(database: Database): IdempotencyStore {
  const { countsConflicts } = database.dialect;
  const begin = `
    insert into gatehouse_idempotency (id, fingerprint, attempt, leased_until, expires_at, status, body)
    values (?, ?, ?, ?, ?, ?, ?)
    ${database.dialect.onConflict({
      table: 'gatehouse_idempotency',
      key: ['id'],
      replace: ['attempt', 'fingerprint', 'leased_until', 'expires_at', 'status', 'body'],
      when: IS_FREE,
    })}`;

  return {
    async begin(request, now) {
      const { id, fingerprint, attempt, leasedUntil, expiresAt, answer } = request;
      const values = [id, fingerprint, attempt, leasedUntil, expiresAt];
      const answered = [answer?.status ?? null, answer?.body ?? null];
      for (;;) {
        // One conditional write: of concurrent requests, one inserts or changes the row.
        const changed = await database.run(begin, [...values, ...answered, now, now, fingerprint]);
        if (countsConflicts && changed > 0) return undefined;
        const row = await database.get<RequestRow>(FIND, [id]);
        // Without a row, the first request was abandoned since the write: try again.
        if (row) return row.attempt === attempt ? undefined : toRequest(row);
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

const FIND = `
  select id, fingerprint, attempt, leased_until, expires_at, status, body
  from gatehouse_idempotency where id = ?`;

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

interface RequestRow {
  readonly id: string;
  readonly fingerprint: string;
  readonly attempt: string;
  readonly leased_until: Integer;
  readonly expires_at: Integer;
  readonly status: Integer | null;
  readonly body: string | null;
}

function toRequest(row: RequestRow): StoredRequest {
  return {
    id: row.id,
    fingerprint: row.fingerprint,
    attempt: row.attempt,
    leasedUntil: Number(row.leased_until),
    expiresAt: Number(row.expires_at),
    answer: row.status === null ? undefined : { status: Number(row.status), body: row.body ?? '' },
  };
}
