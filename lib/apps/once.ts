import { randomUUID } from 'node:crypto';

import type { IdempotencyStore } from '../contracts.ts';
import { begin, digest } from '../idempotency.ts';

// As long as a page may lie open, or a browser may come back to it and send its form again.
const REMEMBERED = 24 * 60 * 60;
// Longer than anything here takes: after a crash, the same form can be sent again.
const LEASE = 60;

/**
 * Runs what a form asks for once, whatever the number of times and nodes it is sent to.
 *
 * @param parts - whose form it is, what it does, and the random string in it
 * @returns `undefined` when an earlier call did it, or is about to
 */
export type Once = <T>(parts: readonly string[], run: () => Promise<T>) => Promise<T | undefined>;

export function createOnce(store: IdempotencyStore): Once {
  return async function once(parts, run) {
    const id = digest(['form', ...parts]);
    const attempt = { id, fingerprint: id, attempt: randomUUID() };
    if (await begin(store, attempt, { lease: LEASE, kept: REMEMBERED })) return undefined;
    let result;
    try {
      result = await run();
    } catch (error) {
      await store.abandon(attempt);
      throw error;
    }
    // What was made is shown even if this fails: a secret cannot be shown later.
    await store.finish(attempt, { status: 201, body: '{}' }).catch(() => false);
    return result;
  };
}
