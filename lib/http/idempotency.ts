import { createHash } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { IdempotencyStore, Seconds, StoredRequest } from '../contracts/index.ts';

/** A request that may be sent twice, and the attempt to carry it out. */
export type RequestAttempt = Pick<StoredRequest, 'id' | 'fingerprint' | 'attempt'>;

/** SHA-256 of a value as JSON, base64url: identifies a request without storing its contents. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}

/**
 * Begins a request as of now: {@link IdempotencyStore.begin}.
 *
 * @param times - how long the attempt counts as running without a renewal, and how long the request is stored
 */
export async function begin(
  store: Pick<IdempotencyStore, 'begin'>,
  attempt: RequestAttempt,
  { lease, retention }: { readonly lease: Seconds; readonly retention: Seconds },
): Promise<StoredRequest | undefined> {
  const at = now();
  return store.begin(
    { ...attempt, leasedUntil: at + lease, expiresAt: at + retention, answer: undefined },
    at,
  );
}
