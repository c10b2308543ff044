import { randomUUID } from 'node:crypto';

import type { IdempotencyStore, Seconds } from '../contracts/index.ts';
import { begin, digest } from '../http/idempotency.ts';

// How long a page may stay open, or a browser may return to it and post its form again.
const RETENTION: Seconds = 24 * 60 * 60;
// Longer than any operation of a page takes. After a crash, the same form can be posted again when this time has passed.
const LEASE: Seconds = 60;

/**
 * Runs the operation of a form once, however often and to however many nodes the form is posted.
 *
 * @param parts - the user's id, the operation, and the random string in the form
 * @returns `undefined` when an earlier call has run the operation, or is running it
 */
export type Once = <T>(parts: readonly string[], run: () => Promise<T>) => Promise<T | undefined>;

export function createOnce(store: IdempotencyStore): Once {
  return async function once(parts, run) {
    const id = digest(['form', ...parts]);
    const attempt = { id, fingerprint: id, attempt: randomUUID() };
    if (await begin(store, attempt, { lease: LEASE, retention: RETENTION })) return undefined;
    let result;
    try {
      result = await run();
    } catch (error) {
      await store.abandon(attempt);
      throw error;
    }
    // The result is returned even if this fails: a new secret cannot be shown later.
    await store.finish(attempt, { status: 201, body: '{}' }).catch(() => false);
    return result;
  };
}
