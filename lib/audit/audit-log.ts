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

// What is kept of requests that anybody can send, of each kind: enough for people who try, and no way to fill the database.
const ALLOWANCE = { burst: 1000, perSecond: 10 };

// What every storage can keep in an indexed column.
const LONGEST_TEXT = 255;

const MOST_LISTED = 200;

/**
 * Makes the record of what happened: events are told to listeners at once, and kept in batches.
 *
 * @param retention - in seconds: how long events are kept. 0: not at all, and listeners still get them
 */
export function createAuditLog(
  store: AuditStore,
  { logger, retention }: { logger: Logger; retention: number },
): AuditLog {
  const listeners = createListeners(logger);
  const writer = createRecordWriter(store, { logger, retention });
  // Apart, so that a flood of one kind hides none of another.
  const allowances = new Map(OPEN_TO_STRANGERS.map((type) => [type, createAllowance(ALLOWANCE)]));
  const createId = createRecordId();

  function isRecorded({ type, at }: AuditRecord): boolean {
    if (retention === 0) return false;
    const allowance = allowances.get(type);
    if (!allowance || allowance.take(at)) return true;
    writer.leaveOut(type);
    return false;
  }

  return {
    record(event, origin) {
      const at = Date.now();
      const record = toRecord(event, origin, { id: createId(at), at });
      if (isRecorded(record)) writer.write(record);
      listeners.notify(record);
    },
    on: listeners.on,
    async list(query = {}) {
      const { limit } = query;
      if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MOST_LISTED)) {
        throw new ConfigError('audit.list()', `limit is a number from 1 to ${MOST_LISTED}`);
      }
      // Who looks for what they have just done finds it. The storage's own answer tells whether it can be reached.
      await writer.flush().catch(() => {});
      return store.list(query);
    },
    flush: () => writer.flush(),
  };
}

const OPEN_TO_STRANGERS: readonly AuditEvent['type'][] = [
  'token_refused',
  'authorization_refused',
  'login_failed',
  'login_throttled',
];

function toRecord(
  event: AuditEvent,
  { actorId, address, requestId }: AuditOrigin = {},
  made: Pick<AuditRecord, 'id' | 'at'>,
): AuditRecord {
  const record: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({
    ...event,
    actorId,
    address: address === undefined ? undefined : addressOf(address),
    requestId,
    ...made,
  })) {
    if (value !== undefined) record[name] = typeof value === 'string' ? toStorable(value) : value;
  }
  return Object.freeze(record) as unknown as AuditRecord;
}

/** Ids come from the host as they are. One that the storage refuses would keep every record behind it from being written. */
function toStorable(text: string): string {
  return text.length > LONGEST_TEXT || text.includes('\0')
    ? text.replaceAll('\0', '').slice(0, LONGEST_TEXT)
    : text;
}

/** So many at once, and so many more per second (a token bucket). */
interface Allowance {
  /** Takes one. `false`: there is none left. */
  take(at: number): boolean;
}

function createAllowance({ burst, perSecond }: { burst: number; perSecond: number }): Allowance {
  let left = burst;
  let countedAt = 0;
  return {
    take(at) {
      const earned = (Math.max(at - countedAt, 0) / 1000) * perSecond;
      left = Math.min(left + earned, burst);
      countedAt = at;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}

// Twelve bits of a UUID count the records of one millisecond.
const MOST_IN_A_MILLISECOND = 0xfff;

/**
 * Makes ids that sort by time, and those of one millisecond in the order in which they were made: UUIDs of version 7
 * with a counter (RFC 9562 section 6.2, method 1).
 */
function createRecordId(): (at: number) => string {
  let last = 0;
  let count = 0;
  return (at) => {
    count = at === last ? Math.min(count + 1, MOST_IN_A_MILLISECOND) : 0;
    last = at;
    const time = at.toString(16).padStart(12, '0');
    const counter = count.toString(16).padStart(3, '0');
    // The rest, its variant included, is as random as that of any UUID.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${randomUUID().slice(19)}`;
  };
}

type Listener = (record: AuditRecord) => unknown;

/** Who is told about events as they happen. */
interface Listeners {
  readonly on: AuditLog['on'];
  /** Tells everybody whom it concerns. Never throws. */
  notify(record: AuditRecord): void;
}

function createListeners(logger: Logger): Listeners {
  const listeners = new Map<string, Set<{ readonly listener: Listener }>>();

  function call(listener: Listener, record: AuditRecord): void {
    const failed = (error: unknown): void =>
      logger.error({ err: error, type: record.type }, 'audit event listener failed');
    try {
      // One that is asynchronous by mistake would end the process when it fails.
      Promise.resolve(listener(record)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  function on(type: AuditEventType | '*', listener: Listener): () => void {
    checkListener(type, listener);
    // An object of its own, so that a listener that was given twice is called twice and taken back once.
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

// A misspelt type would never be heard of.
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
  client_created: true,
  client_updated: true,
  client_disabled: true,
  client_enabled: true,
  client_deleted: true,
  secret_added: true,
  secret_deleted: true,
  tokens_revoked: true,
  assignment_changed: true,
  key_rotated: true,
};
