import { performance } from 'node:perf_hooks';

import type { Milliseconds } from '../contracts/duration.ts';

/** Tells which requests arrived while this process did not run. */
export interface Pauses {
  /**
   * Whether the request that is read now may have waited for longer than 5 seconds, because the process was stopped. Its client may
   * have given up and sent it to another node.
   */
  readonly isLate: boolean;
  /** Stops the timer. */
  end(): void;
}

// In milliseconds. A client that gives up does so after some seconds; a busy process pauses for less.
const LONGEST = 5000;
const INTERVAL = 500;

// A part of the time. A process that has computed meanwhile was not stopped but is overloaded, and refusing its requests, which their
// clients then repeat, would not end that.
const COMPUTING = 0.1;

// What is waiting already is read without a wait; Node waits for anything that comes later.
const NO_WAIT: Milliseconds = 1;

/**
 * Watches for pauses of the event loop. After one, what has arrived meanwhile is read first: on open connections before any timer
 * runs, on new ones afterwards, and all of it before the loop waits for something new.
 */
export function watchPauses(): Pauses {
  let ranAt = performance.now();
  let computed = process.cpuUsage();
  let idleAtEnd: Milliseconds | undefined;

  /** @param time - since the timer has run */
  function wasStopped(time: Milliseconds): boolean {
    const { system, user } = process.cpuUsage(computed);
    return (system + user) / 1000 < time * COMPUTING;
  }

  const timer = setInterval(() => {
    // A process that has no time to wait has read all of it by the next time.
    const time = performance.now() - ranAt;
    idleAtEnd = time > LONGEST && wasStopped(time) ? idleTime() : undefined;
    ranAt += time;
    computed = process.cpuUsage();
  }, INTERVAL).unref();

  return {
    get isLate() {
      const time = performance.now() - ranAt;
      if (time > LONGEST && wasStopped(time)) return true;
      if (idleAtEnd === undefined) return false;
      if (idleTime() - idleAtEnd < NO_WAIT) return true;
      idleAtEnd = undefined;
      return false;
    },
    end: () => clearInterval(timer),
  };
}

function idleTime(): Milliseconds {
  return performance.eventLoopUtilization().idle;
}
