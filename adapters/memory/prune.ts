import type { Tables } from './tables.ts';

/** Removes up to `limit` expired rows; a grant stays as long as something that came from it has not expired. */
export function prune(tables: Tables, now: number, limit: number): number {
  const { interactions, sessions, credentials, grants, revocations } = tables;
  let removed = 0;

  function sweep<Row>(rows: Map<string, Row>, until: (row: Row) => number): void {
    for (const [key, row] of rows) {
      if (removed >= limit) return;
      if (until(row) < now) {
        rows.delete(key);
        removed += 1;
      }
    }
  }

  for (const rows of [interactions, sessions, credentials, revocations]) {
    sweep<{ readonly expiresAt: number }>(rows, ({ expiresAt }) => expiresAt);
  }
  sweep(grants, ({ neededUntil }) => neededUntil);
  return removed;
}
