import type { IdempotencyStore, Seconds, StoredRequest } from '../../lib/contracts/index.ts';
import { changeRow, copy } from './tables.ts';
import type { Tables } from './tables.ts';

/** Idempotent requests, by their `Idempotency-Key`, and their answers. */
export function idempotencyStore({ requests }: Tables): IdempotencyStore {
  return {
    async begin(request, now) {
      const row = requests.get(request.id);
      if (!row || isFree(row, request, now)) {
        requests.set(request.id, copy(request));
        return undefined;
      }
      return row.attempt === request.attempt ? undefined : copy(row);
    },
    async extend({ id, attempt }, leasedUntil) {
      return changeRow(requests, id, (row) => {
        if (row.attempt !== attempt || row.answer) return false;
        return { leasedUntil, expiresAt: Math.max(row.expiresAt, leasedUntil) };
      });
    },
    async finish({ id, attempt }, answer) {
      return changeRow(
        requests,
        id,
        (row) => row.attempt === attempt && { answer: row.answer ?? copy(answer) },
      );
    },
    async abandon({ id, attempt }) {
      const row = requests.get(id);
      if (row?.attempt === attempt && !row.answer) requests.delete(id);
    },
  };
}

/**
 * An expired row counts as pruned. An unfinished row may be taken over only by the same request (fingerprint): another request
 * with the same key must not continue a half-done attempt.
 */
function isFree(row: StoredRequest, { fingerprint }: StoredRequest, now: Seconds): boolean {
  if (row.leasedUntil > now) return false;
  return row.expiresAt < now || (row.answer === undefined && row.fingerprint === fingerprint);
}
