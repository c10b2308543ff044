import { now } from '../clock.ts';
import type { Finding } from '../contracts.ts';
import type { CheckSubject } from './check.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Whether expired rows are removed as fast as they come. */
export async function checkPruning({ storage, pruneInterval }: CheckSubject): Promise<readonly Finding[]> {
  const { oldestExpired } = await storage.diagnose();
  if (oldestExpired === undefined) return [];
  const lag = now() - oldestExpired;
  // Where a server does not prune, a nightly job is what people have.
  if (lag <= 2 * (pruneInterval || DAY)) return [];
  return [
    {
      code: 'pruning_behind',
      severity: 'warning',
      message: `Rows that expired ${inWords(lag)} ago have not been removed.`,
      remedy:
        'Run `gatehouse prune` now, and see that a server runs with `pruneInterval` or that `gatehouse prune` runs every day.',
    },
  ];
}

function inWords(seconds: number): string {
  const [count, unit] =
    seconds < 2 * DAY ? [Math.floor(seconds / HOUR), 'hour'] : [Math.floor(seconds / DAY), 'day'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
