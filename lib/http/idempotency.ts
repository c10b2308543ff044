import { createHash } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { IdempotencyStore, StoredRequest } from '../contracts/index.ts';

/** A request that may be sent twice, and the attempt to carry it out. */
export type Attempt = Pick<StoredRequest, 'id' | 'fingerprint' | 'attempt'>;

/** How long something is remembered, in seconds. */
export interface Memory {
  /** For how long an attempt is trusted to be alive. */
  readonly lease: number;
  /** For how long the request is known. */
  readonly kept: number;
}

/** SHA-256 of a value as JSON, base64url: it tells requests apart, and nothing of what they say. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}

/** Begins a request as of now: {@link IdempotencyStore.begin}. */
export async function begin(
  store: Pick<IdempotencyStore, 'begin'>,
  attempt: Attempt,
  { lease, kept }: Memory,
): Promise<StoredRequest | undefined> {
  const at = now();
  return store.begin({ ...attempt, leasedUntil: at + lease, expiresAt: at + kept, answer: undefined }, at);
}
