import { randomUUID } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import type {
  AuditEvent,
  AuditEventType,
  AuditLog,
  AuditOrigin,
  AuditQuery,
  AuditRecord,
  AuditStore,
  Logger,
  Milliseconds,
  Seconds,
} from '../contracts/index.ts';
import { toMilliseconds, toSeconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { addressOf } from '../http/request.ts';
import { networksOf } from '../limits/networks.ts';
import { checkNames } from '../options/declare.ts';
import { BY_STRANGERS, FLOOD } from './event-rules.ts';
import type { EventRules, Member, Rate, Share, Shares } from './event-rules.ts';
import { createRecordWriter } from './record-writer.ts';

// The length of an indexed column that every database supports.
const LONGEST_TEXT = 255;

const MAX_LIMIT = 200;

const QUERY: Readonly<Record<keyof AuditQuery, true>> = {
  clientId: true,
  userId: true,
  types: true,
  after: true,
  limit: true,
};

/**
 * Creates the audit log: it notifies the listeners of events at once, and stores the events in batches.
 *
 * @param rules - of all events, those of the core too
 * @param retention - how long events are stored. With 0 they are not stored, but listeners still get them
 */
export function createAuditLog(
  store: AuditStore,
  { logger, retention, rules }: { logger: Logger; retention: Seconds; rules: EventRules },
): AuditLog {
  const sharesOf = createSharesOf(rules);
  const types = new Set(Object.keys(rules));
  const listeners = createListeners(logger, types);
  const writer = createRecordWriter(store, { logger, retention });
  // One bucket for each share, so that a flood of some events does not suppress others. They are kept by type, so that many shares of one
  // type, such as networks, do not displace the shares of another type.
  const buckets = new Map<AuditEventType, LRUCache<string, TokenBucket>>();
  const createId = createRecordId();

  function isStored(record: AuditRecord): boolean {
    if (retention === 0 || rules[record.type]?.isNotStored) return false;
    const ofType = buckets.get(record.type) ?? new LRUCache<string, TokenBucket>(CACHE_BOUND);
    buckets.set(record.type, ofType);
    for (const [rate, ...of] of sharesOf(record)) {
      const share = JSON.stringify(of.map((member) => valueOf(record, member)));
      const bucket = ofType.get(share) ?? createTokenBucket(rate);
      ofType.set(share, bucket);
      if (bucket.take(toMilliseconds(record.at))) continue;
      writer.countDropped(record.type);
      return false;
    }
    return true;
  }

  return {
    record(event, origin) {
      const at = Date.now();
      const record = toRecord(event, origin, { id: createId(at), at: toSeconds(at) });
      if (isStored(record)) writer.write(record);
      listeners.notify(record);
    },
    on: listeners.on,
    async list(query = {}) {
      checkNames(query, QUERY, 'audit.list()');
      const { limit } = query;
      for (const type of query.types ?? []) requireType(types, 'audit.list()', type);
      if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT)) {
        throw new ConfigError('audit.list()', `limit is a number from 1 to ${MAX_LIMIT}`);
      }
      // The list includes the latest events of this node. A failed write is ignored: when the storage cannot be reached, `list`
      // fails.
      await writer.flush().catch(() => {});
      return store.list(query);
    },
    async countByDay(query) {
      await writer.flush().catch(() => {});
      return store.countByDay(query);
    },
    flush: () => writer.flush(),
  };
}

function valueOf(record: AuditRecord, member: Member): string | undefined {
  if (member === 'network')
    return record.address === undefined ? undefined : networksOf(record.address)[0].name;
  const members: Partial<Record<Member, string | undefined>> = record;
  return members[member];
}

// An app that asks for tokens of its own has no user.
export const OF_APP: Shares = [[FLOOD, 'clientId']];

function createSharesOf(rules: EventRules): (record: AuditRecord) => readonly Share[] {
  return (record) => {
    const isOfAppItself = record.type === 'token_issued' && record.userId === undefined;
    // Events that a feature of another version has recorded are limited like events that strangers cause.
    const shares = isOfAppItself ? OF_APP : (rules[record.type]?.shares ?? BY_STRANGERS);
    if (shares === 'all') return [];
    return record.actorId === undefined ? shares.filter(([, of]) => of !== 'actorId') : shares;
  };
}

// Uses neither spreading nor entries, because they took most of the time of this function.
function toRecord(
  event: AuditEvent,
  { actorId, address, requestId }: AuditOrigin = {},
  { id, at }: Pick<AuditRecord, 'id' | 'at'>,
): AuditRecord {
  const record: Record<string, unknown> = {};
  const origin = { actorId, address: address === undefined ? undefined : addressOf(address), requestId };
  for (const members of [event, origin, { id, at }] as Readonly<Record<string, unknown>>[]) {
    for (const name in members) {
      const value = members[name];
      if (value === undefined) continue;
      const isUnstorable = typeof value === 'string' && (value.length > LONGEST_TEXT || value.includes('\0'));
      record[name] = isUnstorable ? storable(value) : value;
    }
  }
  return Object.freeze(record) as unknown as AuditRecord;
}

/**
 * Shortens an id of the host that a database would refuse: the write of its batch would fail each time, and block all later
 * records.
 */
function storable(text: string): string {
  return text.replaceAll('\0', '').slice(0, LONGEST_TEXT);
}

/** A rate limit with bursts. */
type TokenBucket = ReturnType<typeof createTokenBucket>;

function createTokenBucket({ burst, interval }: Rate) {
  let left = burst;
  let filledAt = 0;
  return {
    /** Takes a token from the bucket; `false` when the bucket is empty. */
    take(at: Milliseconds): boolean {
      left = Math.min(left + Math.max(at - filledAt, 0) / interval, burst);
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
function createRecordId(): (at: Milliseconds) => string {
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

type AuditListener = (record: AuditRecord) => unknown;

/** The listeners of one server. */
function createListeners(logger: Logger, types: ReadonlySet<string>) {
  const listeners = new Map<string, Set<{ readonly listener: AuditListener }>>();

  function call(listener: AuditListener, record: AuditRecord): void {
    const logFailure = (error: unknown): void =>
      logger.error({ err: error, type: record.type }, 'audit event listener failed');
    try {
      // A listener may be an async function, whose unhandled rejection would end the process.
      Promise.resolve(listener(record)).catch(logFailure);
    } catch (error) {
      logFailure(error);
    }
  }

  function on(type: AuditEventType | '*', listener: AuditListener): () => void {
    checkListener(type, listener, types);
    // A new object per call, so that a function that is added twice is called twice and removed once at a time.
    const entry = { listener };
    const entries = listeners.get(type) ?? new Set();
    listeners.set(type, entries.add(entry));
    return () => void entries.delete(entry);
  }

  return {
    on,
    /** Calls the listeners of the record's type. Never throws. */
    notify(record: AuditRecord): void {
      for (const type of [record.type, '*']) {
        for (const { listener } of listeners.get(type) ?? []) call(listener, record);
      }
    },
  };
}

// Checked, because a listener for a misspelt type would never be called.
/** @throws ConfigError when there is no event of this type */
function requireType(types: ReadonlySet<string>, place: string, type: string, others = ''): void {
  if (types.has(type)) return;
  throw new ConfigError(
    place,
    `there is no event "${type}"; the events are ${[...types].join(', ')}${others}`,
  );
}

function checkListener(type: string, listener: unknown, types: ReadonlySet<string>): void {
  if (type !== '*') requireType(types, 'events.on()', type, ', and * for all');
  if (typeof listener !== 'function') throw new ConfigError('events.on()', 'pass a function to call');
}
