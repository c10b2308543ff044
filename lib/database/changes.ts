import { setTimeout as delay } from 'node:timers/promises';

import type { ChangeFeed, Milliseconds, StorageDiagnosis, StoredChange } from '../contracts/index.ts';
import type { Database } from './database.ts';
import { codeOf } from './error-kinds.ts';
import type { ListeningConnection } from './port.ts';

const CHANNEL = 'gatehouse_changes';

// Repeating it changes nothing.
const LISTEN = `listen ${CHANNEL}`;

// In bytes: PostgreSQL takes less than 8000.
const MAX_PAYLOAD = 7900;

// In milliseconds, between two attempts to listen.
const RETRY_DELAYS = { first: 500, longest: 10_000 };

// How often the connection is checked; it has to answer until the next check.
const CHECK_INTERVAL: Milliseconds = 5000;

type ChangeListener = (changes: readonly StoredChange[]) => void;

/** The changes of all nodes on a database, by PostgreSQL's NOTIFY and LISTEN. */
export interface PostgresqlChangeFeed extends ChangeFeed {
  /** Why the messages of other nodes do not arrive; `undefined` when they do, or when no connection is opened for them. */
  diagnose(timeout: Milliseconds): Promise<StorageDiagnosis['listening']>;
  /** Ends the connection. */
  close(): void;
}

/**
 * NOTIFY is a statement on a connection of the pool. LISTEN belongs to a connection, so there is one for it besides the pool, opened at
 * the first subscription. It does not keep the process alive.
 *
 * @param open - opens that connection; resolves to `undefined` when none can be opened any more
 */
export function postgresqlChangeFeed(
  database: Pick<Database, 'get'>,
  open: () => Promise<ListeningConnection | undefined>,
): PostgresqlChangeFeed {
  const listeners: ChangeListener[] = [];
  const closing = new AbortController();
  let isRunning = false;
  let hasListened = false;

  function tell(payload: string | undefined): void {
    const changes = parseChanges(payload);
    for (const listener of listeners) listener(changes);
  }

  /**
   * Listens on a connection until it ends or is closed.
   *
   * @returns `false` when the connection leads to a pooler such as PgBouncer, which shares its connections to the server: LISTEN would
   * stay in effect on a connection that other clients use
   */
  async function listen(connection: ListeningConnection): Promise<boolean> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    connection.once('end', end);
    closing.signal.addEventListener('abort', () => end(), { once: true });
    if (closing.signal.aborted) end();
    connection.unref();
    let isAnswered = true;

    // A server may disappear without closing its connections.
    function check(): void {
      if (!isAnswered) end();
      isAnswered = false;
      connection.query(LISTEN).then(
        () => (isAnswered = true),
        () => end(),
      );
    }

    async function start(): Promise<boolean> {
      if (!(await isDirect(connection))) return false;
      connection.on('notification', ({ payload }) => tell(payload));
      await connection.query(LISTEN);
      // Messages that were sent while the earlier connection was lost did not arrive.
      if (hasListened) tell(EVERYTHING);
      hasListened = true;
      return true;
    }

    const timer = setInterval(check, CHECK_INTERVAL).unref();
    try {
      // When the connection ends before a query is answered, the query is never answered.
      const isListening = await Promise.race([start(), ended.then(() => true)]);
      if (isListening) await ended;
      return isListening;
    } finally {
      clearInterval(timer);
      // Not awaited, because a server that does not answer any more does not answer the goodbye either.
      connection.end().catch(() => {});
    }
  }

  async function run(): Promise<void> {
    let pause = RETRY_DELAYS.first;
    while (!closing.signal.aborted) {
      const startedAt = performance.now();
      try {
        const connection = await open();
        if (!connection || !(await listen(connection))) return;
      } catch (error) {
        // feature_not_supported, syntax_error: the server has no LISTEN, as databases with PostgreSQL's protocol may.
        if (['0A000', '42601'].includes(codeOf(error))) return;
      }
      const wasStable = performance.now() - startedAt > RETRY_DELAYS.longest;
      pause = wasStable ? RETRY_DELAYS.first : Math.min(pause * 2, RETRY_DELAYS.longest);
      await delay(pause, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  }

  return {
    async publish(changes) {
      const payload = JSON.stringify(changes);
      const isTooLong = Buffer.byteLength(payload) > MAX_PAYLOAD;
      await database.get('select pg_notify(?, ?)', [CHANNEL, isTooLong ? EVERYTHING : payload]);
    },
    async subscribe(onChanges) {
      listeners.push(onChanges);
      if (isRunning) return;
      isRunning = true;
      void run();
    },
    diagnose: async (timeout) =>
      Promise.race([diagnose(open), delay(timeout, 'unreachable' as const, { ref: false })]),
    close: () => closing.abort(),
  };
}

async function diagnose(
  open: () => Promise<ListeningConnection | undefined>,
): Promise<StorageDiagnosis['listening']> {
  let connection: ListeningConnection | undefined;
  try {
    connection = await open();
    return !connection || (await isDirect(connection)) ? undefined : 'pooled';
  } catch {
    return 'unreachable';
  } finally {
    connection?.end().catch(() => {});
  }
}

/** Whether the connection leads to the server itself. A pooler announces process ids of its own. */
async function isDirect(connection: ListeningConnection): Promise<boolean> {
  const { rows } = await connection.query('select pg_backend_pid() as pid');
  return rows[0]?.['pid'] === connection.processID;
}

// An empty list stands for changes that are not named.
const EVERYTHING = '[]';

/** The changes of a message. Every user of the database can send one; a message that cannot be read stands for any change. */
function parseChanges(payload: string | undefined): readonly StoredChange[] {
  try {
    const changes: unknown = JSON.parse(payload ?? '');
    return Array.isArray(changes) && changes.every(isChange) ? changes : [];
  } catch {
    return [];
  }
}

function isChange(change: unknown): change is StoredChange {
  return (
    typeof change === 'object' &&
    change !== null &&
    Object.values(change).every((value) => typeof value === 'string')
  );
}
