import type { Milliseconds } from '../contracts/duration.ts';

// Until what was added is written.
const DELAY: Milliseconds = 1000;

// After a start, every user's first request adds something. What is beyond this number is left to a later request.
const MOST_WAITING = 10_000;

/**
 * Writes what requests record besides their work. None of them waits for it; it is written within seconds, one write at a time, and may
 * be lost.
 */
export interface WriteQueue<T> {
  /** Whether nothing more can be added at the moment. */
  isFull(this: void): boolean;
  add(this: void, one: T): void;
  /** Resolves when all is written. What is left after a failure waits for what is added next. */
  written(this: void): Promise<void>;
}

/**
 * @param writeNext - takes what it writes out of `waiting`, and resolves to `false` when it failed: the storage may be unreachable, and
 * then each further write would wait for it
 */
export function createWriteQueue<T>(writeNext: (waiting: T[]) => Promise<boolean>): WriteQueue<T> {
  const waiting: T[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  async function startWriting(): Promise<void> {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function writeAll(): Promise<void> {
    let isGoingOn = true;
    while (isGoingOn && waiting.length > 0) isGoingOn = await writeNext(waiting);
  }

  return {
    isFull: () => waiting.length >= MOST_WAITING,
    add(one) {
      waiting.push(one);
      timer ??= setTimeout(() => {
        timer = undefined;
        void startWriting();
      }, DELAY).unref();
    },
    async written() {
      await writing;
      // Another caller that waited may have begun the next write.
      if (writing || waiting.length > 0) await startWriting();
    },
  };
}
