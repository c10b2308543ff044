import type { IdempotencyStore, StoredRequest } from '../../lib/contracts/index.ts';
import { copy } from './tables.ts';
import type { Tables } from './tables.ts';

/** Idempotent requests, by their `Idempotency-Key`, and their answers. */
export function idempotencyStore({ requests }: Tables): IdempotencyStore {
  function findOwn({ id, attempt }: Pick<StoredRequest, 'id' | 'attempt'>): StoredRequest | undefined {
    const row = requests.get(id);
    return row?.attempt === attempt ? row : undefined;
  }

  return {
    async begin(request, now) {
      const row = requests.get(request.id);
      if (!row || isFree(row, request, now)) {
        requests.set(request.id, copy(request));
        return undefined;
      }
      return row.attempt === request.attempt ? undefined : copy(row);
    },
    async extend(request, leasedUntil) {
      const own = findOwn(request);
      if (!own || own.answer) return false;
      requests.set(own.id, { ...own, leasedUntil, expiresAt: Math.max(own.expiresAt, leasedUntil) });
      return true;
    },
    async finish(request, answer) {
      const own = findOwn(request);
      if (own) requests.set(own.id, { ...own, answer: own.answer ?? copy(answer) });
      return own !== undefined;
    },
    async abandon(request) {
      const own = findOwn(request);
      if (own && !own.answer) requests.delete(own.id);
    },
  };
}

/**
 * An expired row counts as pruned. An unfinished row may be taken over only by the same request (fingerprint): another request
 * with the same key must not continue a half-done attempt.
 */
function isFree(row: StoredRequest, { fingerprint }: StoredRequest, now: number): boolean {
  if (row.leasedUntil > now) return false;
  return row.expiresAt < now || (row.answer === undefined && row.fingerprint === fingerprint);
}
