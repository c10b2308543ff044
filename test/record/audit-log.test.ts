import { setImmediate as nextTurn, setTimeout as waitFor } from 'node:timers/promises';

import test from '../harness/test.ts';
import type { AuditRecord } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { AuditStore } from '../../lib/contracts/index.ts';
import { FEATURE_EVENTS } from '../../lib/features/tables.ts';
import { createAuditLog } from '../../lib/record/audit-log.ts';
import { CORE_EVENTS } from '../../lib/record/core-events.ts';
import { StorageError } from '../../lib/errors.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { recordingLogger } from '../harness/platform.ts';
import type { AuditEvent, AuditLog } from '../../lib/contracts/audit.ts';

const ISSUED = { type: 'token_issued', clientId: 'c', grantType: 'client_credentials' } as const;
// Each is stored.
const ROTATED = { type: 'key_rotated', keyId: 'k' } as const;
const REFUSED = { type: 'token_refused', error: 'invalid_client', reason: 'client not found' } as const;

/** A log on a storage that can be made unreachable, or paused during a write. */
function start(): {
  audit: AuditLog;
  logger: ReturnType<typeof recordingLogger>;
  store: AuditStore;
  /** How many records each write had. */
  writes: number[];
  connection: { isUnreachable: boolean; tries: number; paused: Promise<unknown> | undefined };
  /** Records an event a number of times. */
  repeat: (times: number, event: AuditEvent, origin?: Parameters<AuditLog['record']>[1]) => void;
  /** How many events of a type are stored. */
  count: (type: AuditEvent['type']) => Promise<number>;
} {
  const logger = recordingLogger();
  const { audit: store } = memoryStorage();
  const writes: number[] = [];
  const connection = { isUnreachable: false, tries: 0, paused: undefined as Promise<unknown> | undefined };
  const reach = (): void => {
    if (connection.isUnreachable) throw new StorageError('unreachable');
  };
  const watched: AuditStore = {
    async list(query) {
      reach();
      return store.list(query);
    },
    async countByDay(query) {
      reach();
      return store.countByDay(query);
    },
    async append(records, expiresAt) {
      await connection.paused;
      connection.tries += 1;
      reach();
      writes.push(records.length);
      await store.append(records, expiresAt);
    },
  };
  const audit = createAuditLog(watched, {
    logger,
    retention: 86_400,
    rules: { ...CORE_EVENTS, ...FEATURE_EVENTS },
  });
  return {
    audit,
    logger,
    store,
    writes,
    connection,
    repeat(times, event, origin) {
      for (let count = 0; count < times; count += 1) audit.record(event, origin);
    },
    async count(type) {
      await audit.flush();
      return (await store.list({ types: [type], limit: 10_000 })).length;
    },
  };
}

function grantTypes(records: readonly AuditRecord[]): string[] {
  return records.map((record) => ('grantType' in record ? String(record.grantType) : record.type));
}

test('listeners of a type and of all types are called as soon as an event is recorded, and cannot change it', async (t) => {
  const { audit } = start();
  const notified: string[] = [];
  audit.on('token_issued', ({ clientId, at, id }) => {
    notified.push(`issued ${clientId}`);
    t.true(Math.abs(Date.now() / 1000 - at) < 1);
    t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
  audit.on('*', (record) => {
    notified.push(`${record.type} from ${record.address}`);
    t.throws(() => Object.assign(record, { type: 'login' }));
  });
  audit.on('login', () => t.fail());
  audit.record(ISSUED, { address: '192.0.2.7', actorId: 'ann' });
  t.deepEqual(notified, ['issued c', 'token_issued from 192.0.2.7']);
  t.like((await audit.list({ clientId: 'c' }))[0], { ...ISSUED, actorId: 'ann', address: '192.0.2.7' });
});

test('a listener that was added twice is called twice, until it is removed', (t) => {
  const { audit } = start();
  let calls = 0;
  const listener = (): void => void (calls += 1);
  const [first, second] = [audit.on('token_issued', listener), audit.on('token_issued', listener)];
  audit.record(ISSUED);
  t.is(calls, 2);
  first();
  first();
  audit.record(ISSUED);
  t.is(calls, 3);
  second();
  audit.record(ISSUED);
  t.is(calls, 3);
});

test('an error of a listener is logged, and other listeners and the record are not affected', async (t) => {
  const { audit, logger } = start();
  const [now, later] = [new Error('now'), new Error('later')];
  let calls = 0;
  audit.on('token_issued', () => {
    throw now;
  });
  // oxlint-disable-next-line typescript/no-misused-promises -- a mistake that hosts make
  audit.on('token_issued', async () => Promise.reject(later));
  audit.on('*', () => void (calls += 1));
  audit.record(ISSUED);
  await nextTurn();
  t.is(calls, 1);
  const [message, type] = ['audit event listener failed', 'token_issued'];
  t.deepEqual(logger.lines, [
    { level: 'error', message, fields: { err: now, type } },
    { level: 'error', message, fields: { err: later, type } },
  ]);
  t.is((await audit.list()).length, 1);
});

test('an unknown event type and a listener that is not a function are refused', (t) => {
  const { audit } = start();
  for (const [type, listener, message] of [
    [
      'token_isued',
      () => {},
      /^events\.on\(\): there is no event "token_isued"; the events are token_issued, /,
    ],
    ['constructor', () => {}, /^events\.on\(\): there is no event "constructor"/],
    ['login', undefined, 'events.on(): pass a function to call'],
  ] as const)
    t.throws(() => audit.on(type as 'login', listener as () => void), { code: 'ERR_CONFIG', message });
});

test('events are written within a second, and listed newest first', async (t) => {
  const { audit, store } = start();
  const written = Promise.withResolvers<void>();
  const append = store.append.bind(store);
  store.append = async (...given) => append(...given).finally(() => written.resolve());
  audit.record({ ...ISSUED, grantType: '1' });
  audit.record({ ...ISSUED, grantType: '2' });
  t.deepEqual(await store.list({}), []);
  // The timer of the log is unreferenced: without another timer the process would end.
  const alive = setTimeout(() => {}, 60_000);
  await written.promise;
  clearTimeout(alive);
  t.deepEqual(grantTypes(await store.list({})), ['2', '1']);
});

test('events that were recorded during a slow write are written by a later write', async (t) => {
  const { repeat, store, connection } = start();
  const pause = Promise.withResolvers<void>();
  connection.paused = pause.promise;
  repeat(257, ISSUED);
  await waitFor(1100);
  pause.resolve();
  while ((await store.list({ limit: 1000 })).length < 257) await nextTurn();
  t.pass();
});

test('ids sort in the order of the events, also within a millisecond, and a write has at most 256 events', async (t) => {
  const { audit, repeat, writes } = start();
  const ids: string[] = [];
  audit.on('*', ({ id }) => ids.push(id));
  repeat(1000, ISSUED);
  t.is(new Set(ids).size, 1000);
  t.deepEqual(ids.toSorted(), ids);
  await audit.flush();
  t.deepEqual(writes, [256, 256, 256, 232]);
});

test('each flush() waits for the write of the events before it, whoever began that', async (t) => {
  const { audit, store, connection } = start();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  connection.paused = first.promise;
  audit.record({ ...ISSUED, grantType: '1' });
  const begun = audit.flush();
  await nextTurn();
  audit.record({ ...ISSUED, grantType: '2' });
  const written = [audit.flush(), audit.flush()].map(async (flushed) => {
    await flushed;
    return grantTypes(await store.list({}));
  });
  connection.paused = second.promise;
  first.resolve();
  await begun;
  await nextTurn();
  second.resolve();
  t.deepEqual(await Promise.all(written), [
    ['2', '1'],
    ['2', '1'],
  ]);
});

test('events that were recorded while the storage was unreachable are written when it is reachable again', async (t) => {
  const { audit, count, logger, repeat, connection } = start();
  connection.isUnreachable = true;
  repeat(1000, ROTATED);
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  t.like(logger.lines.at(-1), {
    level: 'warn',
    message: 'audit events not written; they are retried',
    fields: { waiting: 1000 },
  });
  const before = logger.lines.length;
  const { tries } = connection;
  repeat(1000, ROTATED);
  await nextTurn();
  t.is(connection.tries, tries, 'an event does not cause a retry');
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  t.is(logger.lines.length, before, 'a retry that fails has no line of its own');
  connection.isUnreachable = false;
  t.is(await count('key_rotated'), 2000);
  connection.isUnreachable = true;
  audit.record(ROTATED);
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  t.is(logger.lines.length, before + 1, 'the next outage has one');
});

test('at most 5000 events wait, also for a storage that does not respond; older ones are lost, which is logged', async (t) => {
  for (const storage of ['unreachable', 'silent'] as const) {
    const { audit, count, logger, store, connection } = start();
    const pause = Promise.withResolvers<void>();
    connection.isUnreachable = storage === 'unreachable';
    if (storage === 'silent') connection.paused = pause.promise;
    for (let number = 0; number < 6000; number += 1) audit.record({ ...ROTATED, keyId: String(number) });
    pause.resolve();
    if (storage === 'unreachable') await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
    connection.isUnreachable = false;
    // Those of the write in progress are not lost.
    const kept = storage === 'silent' ? 5256 : 5000;
    t.is(await count('key_rotated'), kept);
    like(t, await store.list({ limit: 1 }), [{ keyId: '5999' }]);
    audit.record(ROTATED);
    await audit.flush();
    const lost = logger.lines.filter(({ level, message }) => level === 'error' && message.includes('lost'));
    t.is(
      lost.reduce((sum, { fields }) => sum + (fields as { lost: number }).lost, 0),
      6000 - kept,
    );
  }
});

/** How many events of each type were dropped, from the log. */
async function droppedBy({ audit, logger }: Pick<ReturnType<typeof start>, 'audit' | 'logger'>) {
  audit.record(ROTATED);
  await audit.flush();
  const dropped: Record<string, number> = {};
  for (const { message, fields } of logger.lines) {
    if (!message.startsWith('audit events dropped')) continue;
    for (const [type, count] of Object.entries((fields as { left_out: Record<string, number> }).left_out))
      dropped[type] = (dropped[type] ?? 0) + count;
  }
  return dropped;
}

test('many events of one type of refused request do not displace those of another type', async (t) => {
  const { audit, count, logger, repeat } = start();
  let calls = 0;
  audit.on('token_refused', () => void (calls += 1));
  for (let number = 0; number < 1500; number += 1) {
    const origin = { address: addressOf(number) };
    audit.record({ type: 'authorization_refused', error: 'invalid_request', reason: 'x' }, origin);
    audit.record(REFUSED, origin);
  }
  repeat(1000, ISSUED);
  repeat(20, { type: 'login_failed' });
  t.is(calls, 1500, 'listeners are called for each');
  const stored = await count('token_refused');
  t.true(stored >= 1000 && stored < 1100, String(stored));
  t.is(await count('token_issued'), 1000);
  t.is(await count('login_failed'), 20);
  const dropped = await droppedBy({ audit, logger });
  t.deepEqual(Object.keys(dropped), ['authorization_refused', 'token_refused']);
  t.is(dropped['token_refused'], 1500 - stored);
});

const addressOf = (number: number): string => `192.0.${number >> 8}.${number & 255}`;

test.serial(
  'one network cannot suppress the refused requests of others, and each type has its own shares',
  async (t) => {
    using _stopped = stopClock();
    for (const event of [
      REFUSED,
      { type: 'authorization_refused', error: 'invalid_request', reason: 'x' },
      { type: 'login_failed' },
    ] as const) {
      const { audit, count, repeat, store } = start();
      repeat(1500, event, { address: '192.0.2.1' });
      // An IPv6 /64 is one subscriber's.
      for (let number = 1; number <= 1500; number += 1)
        audit.record(event, { address: `2001:db8::${number.toString(16)}` });
      t.is(await count(event.type), 400);
      audit.record(event, { address: '192.0.2.2' });
      t.is(await count(event.type), 401);
      like(t, await store.list({ limit: 1 }), [{ address: '192.0.2.2' }]);
      passTime(2);
      repeat(2, event, { address: '192.0.2.1' });
      t.is(await count(event.type), 402);
    }
    const { audit, count, repeat } = start();
    const denied = { ...CONSENT, type: 'consent_denied' } as const;
    repeat(20, denied);
    for (let number = 0; number < 12_000; number += 1)
      audit.record({ type: 'login_throttled' }, { address: `2001:db8:${number.toString(16)}::1` });
    repeat(20, denied);
    t.is(await count('consent_denied'), 10);
  },
);

const CALLED = {
  type: 'tool_read',
  clientId: 'c',
  userId: 'ann',
  tool: 'list_schools',
  action: 'school/list-schools-action',
  resource: 'https://platform.example/mcp',
} as const;

test('an agent that reads without end cannot fill the database, nor suppress what others read, nor what it changes', async (t) => {
  const { audit, count, logger, repeat, store } = start();
  const others = [
    { userId: 'bob' },
    { clientId: 'd' },
    { userId: undefined },
    { clientId: 'ann', userId: 'c' },
  ];
  repeat(2000, CALLED);
  for (const other of others) audit.record({ ...CALLED, ...other });
  const stored = await count('tool_read');
  t.true(stored >= 1004 && stored < 1500, String(stored));
  like(t, await store.list({ types: ['tool_read'], limit: 4 }), others.toReversed());
  t.deepEqual(await droppedBy({ audit, logger }), { tool_read: 2004 - stored });
  repeat(2000, { ...CALLED, type: 'tool_called', tool: 'delete_school' });
  t.is(await count('tool_called'), 2000);
});

const OF_ANN = { userId: 'ann', clientId: 'c' } as const;
const CONSENT = { ...OF_ANN, scopes: [] } as const;

test.serial('what is repeated without end is stored a bounded number of times', async (t) => {
  using _stopped = stopClock();
  for (const [event, other, burst, seconds] of [
    [{ type: 'login_throttled' }, { address: '192.0.2.2' }, 1, 900],
    [{ type: 'user_code_throttled', userId: 'ann' }, { userId: 'bob' }, 1, 900],
    [{ ...CONSENT, type: 'consent_denied' }, { clientId: 'd' }, 10, 900],
    [{ ...CONSENT, type: 'device_denied' }, { userId: 'bob' }, 10, 900],
    [{ ...CONSENT, type: 'consent_given' }, { clientId: 'd' }, 100, 60],
    [{ ...CONSENT, type: 'consent_withdrawn' }, { userId: 'bob' }, 100, 60],
    [{ ...OF_ANN, type: 'login' }, { userId: 'bob' }, 100, 60],
    [{ ...OF_ANN, type: 'token_issued', grantType: 'refresh_token' }, { clientId: 'd' }, 100, 60],
    [{ ...OF_ANN, type: 'refresh_token_reused', generations: 1 }, { userId: 'bob' }, 100, 60],
    [{ ...OF_ANN, type: 'tokens_revoked', target: 'token' }, { userId: 'bob' }, 100, 60],
    [{ ...CONSENT, type: 'device_authorized' }, { userId: 'bob' }, 100, 60],
    [{ type: 'client_updated', clientId: 'c', fields: [] }, { clientId: 'd' }, 100, 60],
    [{ type: 'client_disabled', clientId: 'c', name: 'C' }, { actorId: 'bob' }, 100, 60],
    [{ type: 'logout', userId: 'ann' }, { userId: 'bob' }, 100, 60],
    [{ type: 'user_code_refused', userId: 'ann' }, { userId: 'bob' }, 100, 60],
  ] as const) {
    const { count, repeat } = start();
    const stored = async (changed: object = {}): Promise<number> => {
      repeat(150, { ...event, ...changed }, { address: '192.0.2.1', actorId: 'eve', ...changed });
      return count(event.type);
    };
    t.is(await stored(), burst, event.type);
    t.is(await stored(other), 2 * burst, `${event.type}: another share`);
    passTime(seconds - 1);
    t.is(await stored(), 2 * burst, event.type);
    passTime(1);
    t.is(await stored(), 2 * burst + 1, event.type);
    passTime(seconds * 100);
    t.is(await stored(), 3 * burst + 1, `${event.type}: a burst again`);
  }
});

test('a user who creates and deletes apps in a loop fills nothing; what a program changes is all stored', async (t) => {
  const { audit, count, repeat } = start();
  for (const [actorId, created] of [
    ['eve', 1000],
    ['ann', 2000],
    [undefined, 3500],
  ] as const) {
    for (let number = 0; number < 1500; number += 1) {
      const app = { clientId: `${actorId} ${number}`, name: 'App' };
      audit.record({ type: 'client_created', ...app }, { actorId });
      audit.record({ type: 'client_deleted', ...app }, { actorId });
    }
    t.is(await count('client_created'), created);
    t.is(await count('client_deleted'), created);
  }
  for (const event of [
    { type: 'client_updated', clientId: 'c', fields: [] },
    { type: 'assignment_changed', userId: 'ann', roles: [], permissions: [] },
    { type: 'key_revoked', keyId: 'k' },
    { type: 'user_erased' },
  ] as const) {
    repeat(1500, event);
    t.is(await count(event.type), 1500);
  }
});

test.serial('throttled logins of any number of addresses have a limit together', async (t) => {
  using _stopped = stopClock();
  const { audit, count } = start();
  for (let number = 0; number < 1200; number += 1)
    audit.record({ type: 'login_throttled' }, { address: `192.0.${number >> 8}.${number & 255}` });
  t.is(await count('login_throttled'), 1000);
});

test.serial('after a flood ten events are stored each second again, and a burst later', async (t) => {
  using _stopped = stopClock();
  for (const event of [REFUSED, ISSUED, CALLED] as const) {
    const { audit, count } = start();
    for (const [seconds, stored] of [
      [0, 1000],
      [0, 1000],
      [1, 1010],
      [30, 1310],
      [3600, 2310],
    ] as const) {
      passTime(seconds);
      for (let number = 0; number < 1200; number += 1) audit.record(event, { address: addressOf(number) });
      t.is(await count(event.type), stored);
    }
  }
});

test('an address that is not an IP address is not recorded', (t) => {
  const { audit } = start();
  const addresses: unknown[] = [];
  audit.on('*', (record) => addresses.push(record.address));
  const valid = ['192.0.2.7', '2001:db8::1', '::ffff:192.0.2.7'];
  const onLink = ['fe80::1%eth0', `fe80::1%${'x'.repeat(5000)}`];
  const invalid = ['unknown', '192.0.2.7, 192.0.2.8', '<script>', '', undefined];
  for (const address of [...valid, ...onLink, ...invalid]) audit.record(ISSUED, { address });
  t.deepEqual(addresses, [...valid, ...onLink.map(() => 'fe80::1'), ...invalid.map(() => undefined)]);
});

test('an id that is too long or has a NUL is shortened, so that the batch can be written', async (t) => {
  const { audit } = start();
  for (const userId of ['x'.repeat(100_000), 'a\0b'])
    audit.record({ type: 'tokens_revoked', target: 'user', userId });
  t.deepEqual(
    (await audit.list()).map((record) => 'userId' in record && record.userId),
    ['ab', 'x'.repeat(255)],
  );
});

test('audit.list() and countByDay() reject while the storage is unreachable', async (t) => {
  const { audit, connection } = start();
  audit.record(ISSUED);
  connection.isUnreachable = true;
  await t.throwsAsync(audit.list(), { code: 'ERR_STORAGE' });
  const query = { clientId: 'c', type: 'token_issued', since: 0, most: 1 } as const;
  await t.throwsAsync(audit.countByDay(query), { code: 'ERR_STORAGE' });
  connection.isUnreachable = false;
  t.is((await audit.list()).length, 1);
});

test('audit.list() returns 1 to 200 records', async (t) => {
  const { audit, repeat } = start();
  for (const limit of [0, -1, 201, 1.5, Number.NaN, '10' as unknown as number]) {
    await t.throwsAsync(audit.list({ limit }), {
      code: 'ERR_CONFIG',
      message: 'audit.list(): limit is a number from 1 to 200',
    });
  }
  repeat(300, ISSUED);
  t.is((await audit.list()).length, 50);
  const page = await audit.list({ limit: 200 });
  const rest = await audit.list({ limit: 200, after: page.at(-1) });
  t.is(new Set([...page, ...rest].map(({ id }) => id)).size, 300);
});

test.serial('a clock that goes back by a day suppresses nothing', async (t) => {
  using _stopped = stopClock();
  const { count, repeat } = start();
  repeat(10, { ...OF_ANN, type: 'login' });
  passTime(-86_400);
  repeat(10, { ...OF_ANN, type: 'login' });
  t.is(await count('login'), 20);
});

test.serial('5000 events of one millisecond have ids of one form', async (t) => {
  using _stopped = stopClock();
  const { audit, repeat, store } = start();
  repeat(5000, ROTATED);
  await audit.flush();
  const records = await store.list({ limit: 5000 });
  t.is(records.length, 5000);
  t.true(
    records.every(({ id }) => /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(id)),
  );
});
