import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import type { SqliteFile } from '../drivers/better-sqlite3.ts';

// Places of the numbers that both threads read and write.

/** 1 after a commit that the thread has not seen. */
export const CHANGED = 0;
/** 1 while a transaction would find the file locked by the thread. */
export const PAUSED = 1;
/** 1 when the thread has to end. */
export const CLOSED = 2;

export interface CheckpointThreadData {
  readonly filename: string;
  readonly shared: SharedArrayBuffer;
}

/** The checkpoints of an SQLite file in WAL mode. */
export interface Checkpoints {
  /** Called after each commit. */
  committed(): void;
  /** Waits while the thread keeps others from writing, for a second at most. */
  paused(): Promise<void>;
  /** Ends the thread, before the last connection is closed. */
  close(): Promise<void>;
}

// Commands and most tests make fewer commits, and then a thread costs more than it saves.
const COMMITS_BEFORE_THREAD = 200;

// A checkpoint of the connection's own would take as long, and nothing else could run meanwhile.
const LONGEST_PAUSE: Milliseconds = 1000;

// In pages of 4 KiB. 16 MB, four times SQLite's default: a checkpoint is half the cost of small commits. With a thread, 64 MB: the
// connection makes a checkpoint only if the thread cannot keep up.
const LOG_PAGES = { withoutThread: 4000, withThread: 16_000 };

/**
 * Moves the checkpoints of a connection to a thread of its own, because a commit that has to make one takes as long as a hundred
 * others. Where there can be no thread (a bundle, a permission that the process lacks), the connection makes them itself.
 */
export function checkpointsInThread(filename: string, connection: () => SqliteFile | undefined): Checkpoints {
  const shared = new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT);
  const state = new Int32Array(shared);
  let commits = 0;
  let thread: Worker | undefined;

  function start(): void {
    try {
      const workerData: CheckpointThreadData = { filename, shared };
      thread = new Worker(new URL(import.meta.resolve('#checkpoint-thread')), { workerData });
    } catch {
      return;
    }
    // It does not keep a process alive that has nothing else to do.
    thread.unref();
    thread.once('message', () => setLogPages(LOG_PAGES.withThread));
    thread.once('error', () => setLogPages(LOG_PAGES.withoutThread));
    thread.once('exit', () => (thread = undefined));
  }

  function setLogPages(pages: number): void {
    connection()?.pragma(`wal_autocheckpoint = ${pages}`);
  }

  return {
    committed() {
      commits += 1;
      if (commits === COMMITS_BEFORE_THREAD) start();
      if (thread && Atomics.exchange(state, CHANGED, 1) === 0) Atomics.notify(state, CHANGED);
    },
    async paused() {
      const until = performance.now() + LONGEST_PAUSE;
      while (Atomics.load(state, PAUSED) === 1 && performance.now() < until) await delay(1);
    },
    async close() {
      for (const place of [CLOSED, CHANGED]) {
        Atomics.store(state, place, 1);
        Atomics.notify(state, place);
      }
      if (!thread) return;
      thread.ref();
      await once(thread, 'exit');
    },
  };
}
