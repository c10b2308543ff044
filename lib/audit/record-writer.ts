import { now } from '../contracts/clock.ts';
import type { AuditRecord, AuditStore, Logger } from '../contracts/index.ts';

// In milliseconds.
const INTERVAL = 1000;

// One statement each; SQLite blocks the thread while it writes one.
const BATCH = 256;

// While the storage is away. About 2 MB.
const MOST_WAITING = 5000;

/** Writes records in batches; the requests that made them do not wait for it. */
export interface RecordWriter {
  /** Takes a record, to be written within a second. Never throws, never waits. */
  write(record: AuditRecord): void;
  /** Counts a record that is not to be written, so that the log tells how many there were of each type. */
  leaveOut(type: AuditRecord['type']): void;
  /**
   * Resolves when what was taken so far is written.
   * @throws StorageError when it could not be; it stays, and is tried again within a second
   */
  flush(): Promise<void>;
}

export function createRecordWriter(
  store: AuditStore,
  { logger, retention }: { logger: Logger; retention: number },
): RecordWriter {
  let waiting: AuditRecord[] = [];
  let lost = 0;
  let leftOut: Partial<Record<AuditRecord['type'], number>> = {};
  let isAway = false;
  let timer: NodeJS.Timeout | undefined;
  let underway: Promise<void> | undefined;

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      attempt();
    }, INTERVAL).unref();
  }

  /** A failure is logged, and the next time comes. */
  function attempt(): void {
    begin().catch(() => {});
  }

  async function begin(): Promise<void> {
    underway ??= drain().finally(() => {
      underway = undefined;
      if (waiting.length > 0) schedule();
    });
    return underway;
  }

  async function drain(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    report();
    for (let left = waiting.length; left > 0; left -= BATCH) {
      const batch = waiting.splice(0, Math.min(BATCH, left));
      try {
        await store.append(batch, now() + retention);
        isAway = false;
      } catch (error) {
        isAway = true;
        // Written or not, nobody knows: those that are there already stay as they are.
        waiting = batch.concat(waiting);
        dropOldest();
        logger.warn({ err: error, waiting: waiting.length }, 'audit events not written; they are retried');
        throw error;
      }
    }
  }

  function dropOldest(): void {
    const excess = waiting.length - MOST_WAITING;
    if (excess <= 0) return;
    waiting.splice(0, excess);
    lost += excess;
  }

  function report(): void {
    if (lost > 0) logger.error({ lost }, 'audit events lost: the storage did not accept them in time');
    if (Object.keys(leftOut).length > 0)
      logger.warn({ left_out: leftOut }, 'audit events of refused requests dropped: too many');
    lost = 0;
    leftOut = {};
  }

  return {
    write(record) {
      waiting.push(record);
      dropOldest();
      if (waiting.length >= BATCH && !isAway) attempt();
      else schedule();
    },
    leaveOut(type) {
      leftOut[type] = (leftOut[type] ?? 0) + 1;
      schedule();
    },
    async flush() {
      // What is under way began without the newest.
      await underway?.catch(() => {});
      if (waiting.length > 0) await begin();
    },
  };
}
