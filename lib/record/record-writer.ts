import { now } from '../contracts/clock.ts';
import type { AuditRecord, AuditStore, Logger, Milliseconds, Seconds } from '../contracts/index.ts';

const INTERVAL: Milliseconds = 1000;

// A batch is one statement, during which SQLite blocks the thread.
const BATCH = 256;

// The records that are queued while the storage cannot be reached: about 2 MB.
const MAX_QUEUED = 5000;

/** Writes records in batches, without the requests that caused them waiting. */
export interface RecordWriter {
  /** Queues a record, which is written within a second. Never throws or waits. */
  write(record: AuditRecord): void;
  /** Counts a record that is not written, so that the log says how many of each type were dropped. */
  countDropped(type: AuditRecord['type']): void;
  /**
   * Resolves when every queued record is written.
   * @throws StorageError when the write failed; the records stay queued, and the write is repeated within a second
   */
  flush(): Promise<void>;
}

export function createRecordWriter(
  store: AuditStore,
  { logger, retention }: { logger: Logger; retention: Seconds },
): RecordWriter {
  let queue: AuditRecord[] = [];
  let lost = 0;
  let dropped: Partial<Record<AuditRecord['type'], number>> = {};
  let isFailing = false;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      writeQueue();
    }, INTERVAL).unref();
  }

  /** Ignores a failure: it has been logged, and the next write is scheduled. */
  function writeQueue(): void {
    startWriting().catch(() => {});
  }

  async function startWriting(): Promise<void> {
    writing ??= writeBatches().finally(() => {
      writing = undefined;
      if (queue.length > 0) schedule();
    });
    return writing;
  }

  async function writeBatches(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    report();
    for (let left = queue.length; left > 0; left -= BATCH) {
      const batch = queue.splice(0, Math.min(BATCH, left));
      try {
        await store.append(batch, now() + retention);
        isFailing = false;
      } catch (error) {
        // The database may have written the batch before the error. Writing it again is safe: `append` skips stored ids.
        queue = batch.concat(queue);
        loseOldest();
        // Logged once, not each second while the database cannot be reached.
        if (!isFailing)
          logger.warn({ err: error, waiting: queue.length }, 'audit events not written; they are retried');
        isFailing = true;
        throw error;
      }
    }
  }

  function loseOldest(): void {
    const excess = queue.length - MAX_QUEUED;
    if (excess <= 0) return;
    queue.splice(0, excess);
    lost += excess;
  }

  function report(): void {
    if (lost > 0) logger.error({ lost }, 'audit events lost: the storage did not accept them in time');
    if (Object.keys(dropped).length > 0) logger.warn({ left_out: dropped }, 'audit events dropped: too many');
    lost = 0;
    dropped = {};
  }

  return {
    write(record) {
      queue.push(record);
      loseOldest();
      if (queue.length >= BATCH && !isFailing) writeQueue();
      else schedule();
    },
    countDropped(type) {
      dropped[type] = (dropped[type] ?? 0) + 1;
      schedule();
    },
    async flush() {
      // A running write does not include the records that were queued after its start.
      await writing?.catch(() => {});
      // Another caller that waited may have begun a write that includes them.
      if (writing || queue.length > 0) await startWriting();
    },
  };
}
