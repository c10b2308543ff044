import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** In microseconds. The kernel counts in hundredths of a second. */
const TICK = 10_000;

/**
 * Begins to watch the machine. What comes back tells how much of it others took since, from 0 to 1: neither `own`
 * microseconds of CPU time nor idle. `undefined` where the kernel does not tell (proc(5)).
 */
export function watchOthers(): (own: number) => number | undefined {
  const before = busyTime();
  const startedAt = performance.now();
  return (own) => {
    const after = busyTime();
    if (before === undefined || after === undefined) return undefined;
    const available = (performance.now() - startedAt) * 1000 * availableParallelism();
    return Math.max(0, (after - before - own) / available);
  };
}

/** What all processors did since the machine was started, in microseconds; also what another machine on them did. */
function busyTime(): number | undefined {
  try {
    const [, user, nice, system, , , irq, softIrq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]!
      .split(/\s+/)
      .map(Number);
    return (user! + nice! + system! + irq! + softIrq! + steal!) * TICK;
  } catch {
    return undefined;
  }
}
