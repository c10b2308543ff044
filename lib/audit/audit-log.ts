import { randomUUID } from 'node:crypto';

import type {
  AuditEvent,
  AuditEventType,
  AuditLog,
  AuditOrigin,
  AuditRecord,
  AuditStore,
  Logger,
} from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { addressOf } from '../http/address.ts';
import { createRecordWriter } from './record-writer.ts';

// The events of limited types that are stored, of each type, so that requests cannot fill the database.
const RATE_LIMIT = { burst: 1000, perSecond: 10 };

// The length of an indexed column that every database supports.
const LONGEST_TEXT = 255;

const MAX_LIMIT = 200;

/**
 * Creates the audit log: it notifies the listeners of events at once, and stores the events in batches.
 *
 * @param retention - how long events are stored, in seconds. 0: they are not stored; listeners get them all the same
 */
export function createAuditLog(
  store: AuditStore,
  { logger, retention }: { logger: Logger; retention: number },
): AuditLog {
  const listeners = createListeners(logger);
  const writer = createRecordWriter(store, { logger, retention });
  // One per type, so that a flood of events of one type does not suppress those of another.
  const buckets = new Map(LIMITED.map((type) => [type, createTokenBucket(RATE_LIMIT)]));
  const createId = createRecordId();

  function isStored({ type, at }: AuditRecord): boolean {
    if (retention === 0) return false;
    const bucket = buckets.get(type);
    if (!bucket || bucket.take(at)) return true;
    writer.countDropped(type);
    return false;
  }

  return {
    record(event, origin) {
      const at = Date.now();
      const record = toRecord(event, origin, { id: createId(at), at });
      if (isStored(record)) writer.write(record);
      listeners.notify(record);
    },
    on: listeners.on,
    async list(query = {}) {
      const { limit } = query;
      if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT)) {
        throw new ConfigError('audit.list()', `limit is a number from 1 to ${MAX_LIMIT}`);
      }
      // The list includes the latest events of this node. A failed write is ignored: when the storage cannot be reached, `list`
      // fails.
      await writer.flush().catch(() => {});
      return store.list(query);
    },
    flush: () => writer.flush(),
  };
}

/** The types of events that requests without valid credentials can cause, and those that agents cause at any rate. */
const LIMITED: readonly AuditEvent['type'][] = [
  'token_refused',
  'authorization_refused',
  'login_failed',
  'login_throttled',
  'tool_called',
];

// Without spreading and entries, which took most of its time.
function toRecord(
  event: AuditEvent,
  { actorId, address, requestId }: AuditOrigin = {},
  { id, at }: Pick<AuditRecord, 'id' | 'at'>,
): AuditRecord {
  const record: Record<string, unknown> = {};
  for (const name of Object.keys(event)) add(record, name, event[name as keyof AuditEvent]);
  add(record, 'actorId', actorId);
  if (address !== undefined) add(record, 'address', addressOf(address));
  add(record, 'requestId', requestId);
  record['id'] = id;
  record['at'] = at;
  return Object.freeze(record) as unknown as AuditRecord;
}

function add(record: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined) record[name] = typeof value === 'string' ? toStorable(value) : value;
}

/**
 * Shortens ids of the host that a database would refuse: the write of its batch would fail each time, and block all later
 * records.
 */
function toStorable(text: string): string {
  return text.length > LONGEST_TEXT || text.includes('\0')
    ? text.replaceAll('\0', '').slice(0, LONGEST_TEXT)
    : text;
}

/** A rate limit with bursts. */
interface TokenBucket {
  /** Takes a token from the bucket. `false`: the bucket is empty. */
  take(at: number): boolean;
}

function createTokenBucket({ burst, perSecond }: { burst: number; perSecond: number }): TokenBucket {
  let left = burst;
  let filledAt = 0;
  return {
    take(at) {
      const added = (Math.max(at - filledAt, 0) / 1000) * perSecond;
      left = Math.min(left + added, burst);
      filledAt = at;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}

// The counter of the records of one millisecond has twelve bits of the UUID.
const MAX_COUNT = 0xfff;

/**
 * Creates ids that sort by time, and within a millisecond in the order of their creation: UUIDs of version 7 with a counter
 * (RFC 9562 section 6.2, method 1).
 */
function createRecordId(): (at: number) => string {
  let last = 0;
  let count = 0;
  return (at) => {
    count = at === last ? Math.min(count + 1, MAX_COUNT) : 0;
    last = at;
    const time = at.toString(16).padStart(12, '0');
    const counter = count.toString(16).padStart(3, '0');
    // The variant bits and the random bits are those of a UUID of version 4.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${randomUUID().slice(19)}`;
  };
}

type Listener = (record: AuditRecord) => unknown;

/** The listeners of one server. */
interface Listeners {
  readonly on: AuditLog['on'];
  /** Calls the listeners of the record's type. Never throws. */
  notify(record: AuditRecord): void;
}

function createListeners(logger: Logger): Listeners {
  const listeners = new Map<string, Set<{ readonly listener: Listener }>>();

  function call(listener: Listener, record: AuditRecord): void {
    const logFailure = (error: unknown): void =>
      logger.error({ err: error, type: record.type }, 'audit event listener failed');
    try {
      // A listener may be an async function, whose unhandled rejection would end the process.
      Promise.resolve(listener(record)).catch(logFailure);
    } catch (error) {
      logFailure(error);
    }
  }

  function on(type: AuditEventType | '*', listener: Listener): () => void {
    checkListener(type, listener);
    // A new object per call, so that a function that is added twice is called twice and removed once at a time.
    const entry = { listener };
    const entries = listeners.get(type) ?? new Set();
    listeners.set(type, entries.add(entry));
    return () => void entries.delete(entry);
  }

  return {
    on,
    notify(record) {
      for (const type of [record.type, '*']) {
        for (const { listener } of listeners.get(type) ?? []) call(listener, record);
      }
    },
  };
}

// Checked, because a listener for a misspelt type would never be called.
function checkListener(type: string, listener: unknown): void {
  if (type !== '*' && !Object.hasOwn(TYPES, type)) {
    throw new ConfigError(
      'events.on()',
      `there is no event "${type}"; the events are ${Object.keys(TYPES).join(', ')}, and * for all`,
    );
  }
  if (typeof listener !== 'function') throw new ConfigError('events.on()', 'pass a function to call');
}

const TYPES: Readonly<Record<AuditEventType, true>> = {
  token_issued: true,
  token_refused: true,
  authorization_refused: true,
  login: true,
  login_failed: true,
  login_throttled: true,
  logout: true,
  consent_given: true,
  consent_denied: true,
  consent_withdrawn: true,
  device_authorized: true,
  device_denied: true,
  user_code_refused: true,
  user_code_throttled: true,
  client_created: true,
  client_updated: true,
  client_disabled: true,
  client_enabled: true,
  client_withdrawn: true,
  client_deleted: true,
  secret_added: true,
  secret_deleted: true,
  tokens_revoked: true,
  assignment_changed: true,
  tool_called: true,
  key_rotated: true,
};
