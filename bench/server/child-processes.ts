import { readdirSync, readFileSync } from 'node:fs';

/** What the processes that this one has started have used, on Linux. Elsewhere nothing is counted. */
export interface ChildUsage {
  /** CPU time, in microseconds; that of processes which have ended included. */
  readonly cpu: number;
  /** In bytes, now; a page that several share is counted once. */
  readonly memory: number;
  /** The same without Chromium's renderers, which end with their documents: only what stays can grow. */
  readonly lastingMemory: number;
}

/** In microseconds: /proc counts in hundredths of a second (proc(5), `stat`). */
export const TICK = 10_000;

export function childUsage(): ChildUsage {
  const running = childrenOf(process.pid).flatMap(familyOf);
  const own = timesOf(process.pid);
  const ticks = own.ended + sum(running.map(timesOf).map(({ itself, ended }) => itself + ended));
  return {
    cpu: ticks * TICK,
    memory: sum(running.map(memoryOf)),
    lastingMemory: sum(running.filter((id) => !isRenderer(id)).map(memoryOf)),
  };
}

function familyOf(id: number): number[] {
  return [id, ...childrenOf(id).flatMap(familyOf)];
}

export function childrenOf(id: number): number[] {
  return tasksOf(id).flatMap((task) =>
    read(`/proc/${id}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
}

function tasksOf(id: number): string[] {
  try {
    return readdirSync(`/proc/${id}/task`);
  } catch {
    return [];
  }
}

/** In ticks: of a process, and of those of its children that have ended. All are 0 when it has ended itself. */
export function timesOf(id: number): { parent: number; itself: number; ended: number } {
  // The name of the program, in parentheses, may contain spaces.
  const [, rest = ''] = /\) (.*)/s.exec(read(`/proc/${id}/stat`)) ?? [];
  const fields = rest.split(' ').map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  return { parent: fields[1] ?? 0, itself: user + system, ended: endedUser + endedSystem };
}

function isRenderer(id: number): boolean {
  return read(`/proc/${id}/cmdline`).includes('--type=renderer');
}

function memoryOf(id: number): number {
  return Number(/^Pss: +(\d+)/m.exec(read(`/proc/${id}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A file of /proc; empty when the process has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
