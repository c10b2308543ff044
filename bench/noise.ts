import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** In microseconds. The kernel counts in hundredths of a second. */
const TICK = 10_000;

/**
 * Starts to measure the CPU time of other processes. The returned function gives their share since then, from 0 to 1, for
 * `own` microseconds of the benchmark; `undefined` where the kernel has no counters (proc(5)).
 */
export function watchOtherLoad(): (own: number) => number | undefined {
  const before = busyTime();
  const startedAt = performance.now();
  return (own) => {
    const after = busyTime();
    if (before === undefined || after === undefined) return undefined;
    const available = (performance.now() - startedAt) * 1000 * availableParallelism();
    return Math.max(0, (after - before - own) / available);
  };
}

/** The CPU time of all processors since boot, in microseconds, with the time stolen by other virtual machines. */
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
