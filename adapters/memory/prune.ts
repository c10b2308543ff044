import type { Tables } from './tables.ts';

/** Removes up to `limit` expired rows; a grant stays as long as something that came from it has not expired. */
export function prune(tables: Tables, now: number, limit: number): number {
  let removed = 0;
  for (const { rows, key, expiresAt } of expiring(tables)) {
    if (removed >= limit) break;
    if (expiresAt >= now) continue;
    rows.delete(key);
    removed += 1;
  }
  return removed;
}

/** When the oldest row expired that {@link prune} would remove; `undefined` when there is none. */
export function oldestExpired(tables: Tables, now: number): number | undefined {
  let oldest: number | undefined;
  for (const { expiresAt } of expiring(tables)) {
    if (expiresAt < now && expiresAt < (oldest ?? Infinity)) oldest = expiresAt;
  }
  return oldest;
}

interface ExpiringRow {
  readonly rows: Map<string, unknown>;
  readonly key: string;
  readonly expiresAt: number;
}

function* expiring(tables: Tables): Generator<ExpiringRow> {
  const { attempts, audit, credentials, grants, requests, revokedTokens, sessions } = tables;
  for (const rows of [sessions, credentials, revokedTokens, requests, audit, attempts]) {
    for (const [key, { expiresAt }] of rows) yield { rows, key, expiresAt };
  }
  for (const [key, { neededUntil }] of grants) yield { rows: grants, key, expiresAt: neededUntil };
}
