import { setImmediate as nextTurn, setTimeout as waitFor } from 'node:timers/promises';

import test from 'ava';
import type { AuditEvent, AuditLog, AuditRecord, StorageTypes } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createAuditLog } from '../../lib/record/audit-log.ts';
import { StorageError } from '../../lib/errors.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { recordingLogger } from '../harness/platform.ts';

const ISSUED = { type: 'token_issued', clientId: 'c', grantType: 'client_credentials' } as const;
const REFUSED = { type: 'token_refused', error: 'invalid_client', reason: 'client not found' } as const;
const DAY = 86_400;

/** A log on a storage that can be made unreachable, or paused during a write. */
function start({ retention = DAY } = {}): {
  audit: AuditLog;
  logger: ReturnType<typeof recordingLogger>;
  store: StorageTypes.AuditStore;
  /** How many records each write had. */
  writes: number[];
  connection: { isUnreachable: boolean; tries: number; paused: Promise<unknown> | undefined };
} {
  const logger = recordingLogger();
  const { audit: store } = memoryStorage();
  const writes: number[] = [];
  const connection = { isUnreachable: false, tries: 0, paused: undefined as Promise<unknown> | undefined };
  const watched: StorageTypes.AuditStore = {
    list: async (query) => store.list(query),
    countByDay: async (query) => store.countByDay(query),
    async append(records, expiresAt) {
      await connection.paused;
      connection.tries += 1;
      if (connection.isUnreachable) throw new StorageError('unreachable');
      writes.push(records.length);
      await store.append(records, expiresAt);
    },
  };
  return { audit: createAuditLog(watched, { logger, retention }), logger, store, writes, connection };
}

function grantTypes(records: readonly AuditRecord[]): string[] {
  return records.map((record) => ('grantType' in record ? String(record.grantType) : record.type));
}

test('listeners of a type and listeners of all types are called as soon as an event is recorded', (t) => {
  const { audit } = start();
  const notified: string[] = [];
  audit.on('token_issued', ({ clientId, at, id }) => {
    notified.push(`issued ${clientId}`);
    t.true(Math.abs(Date.now() - at) < 1000);
    t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
  audit.on('*', ({ type, address }) => notified.push(`${type} from ${address}`));
  audit.on('login', () => t.fail());
  audit.record(ISSUED, { address: '192.0.2.7' });
  t.deepEqual(notified, ['issued c', 'token_issued from 192.0.2.7']);
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
  const on = (type: string, listener: unknown): unknown => audit.on(type as 'login', listener as () => void);
  for (const type of ['token_isued', 'constructor', '', '**']) {
    t.throws(() => on(type, () => {}), {
      code: 'ERR_CONFIG',
      message: /^events\.on\(\): there is no event /,
    });
  }
  t.throws(() => on('login', undefined), {
    code: 'ERR_CONFIG',
    message: 'events.on(): pass a function to call',
  });
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
  const { audit, store, connection } = start();
  const pause = Promise.withResolvers<void>();
  connection.paused = pause.promise;
  for (let count = 0; count < 256; count += 1) audit.record(ISSUED);
  audit.record(ISSUED);
  await waitFor(1100);
  pause.resolve();
  while ((await store.list({ limit: 1000 })).length < 257) await nextTurn();
  t.is((await store.list({ limit: 1000 })).length, 257);
});

test('audit.list() includes events that are not written yet', async (t) => {
  const { audit } = start();
  audit.record(ISSUED, { actorId: 'ann', address: '::1' });
  const [record] = await audit.list({ clientId: 'c' });
  t.like(record, { ...ISSUED, actorId: 'ann', address: '::1' });
});

test('many events are written in batches of 256, without waiting for the timer', async (t) => {
  const { audit, writes } = start();
  for (let count = 0; count < 1000; count += 1) audit.record(ISSUED);
  await audit.flush();
  t.deepEqual(writes, [256, 256, 256, 232]);
});

test('ids sort in the order of the events, also within a millisecond', async (t) => {
  const { audit } = start();
  const ids: string[] = [];
  audit.on('*', ({ id }) => ids.push(id));
  for (let count = 0; count < 3000; count += 1) audit.record(ISSUED);
  t.is(new Set(ids).size, 3000);
  t.deepEqual(ids.toSorted(), ids);
});

test('flush() waits for events that were recorded during a write', async (t) => {
  const { audit, store, connection } = start();
  const pause = Promise.withResolvers<void>();
  connection.paused = pause.promise;
  audit.record({ ...ISSUED, grantType: '1' });
  const first = audit.flush();
  await nextTurn();
  audit.record({ ...ISSUED, grantType: '2' });
  const all = Promise.all([first, audit.flush(), audit.flush()]);
  pause.resolve();
  await all;
  t.deepEqual(grantTypes(await store.list({})), ['2', '1']);
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
  const { audit, logger, store, writes, connection } = start();
  connection.isUnreachable = true;
  for (let count = 0; count < 1000; count += 1) audit.record(ISSUED);
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  t.like(logger.lines.at(-1), {
    level: 'warn',
    message: 'audit events not written; they are retried',
    fields: { waiting: 1000 },
  });
  const before = logger.lines.length;
  const { tries } = connection;
  for (let count = 0; count < 1000; count += 1) audit.record(ISSUED);
  await nextTurn();
  t.is(connection.tries, tries, 'an event does not cause a retry');
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  t.is(logger.lines.length, before, 'a retry that fails has no line of its own');
  connection.isUnreachable = false;
  await audit.flush();
  t.is(
    writes.reduce((sum, count) => sum + count, 0),
    2000,
  );
  t.is((await store.list({ limit: 3000 })).length, 2000);
  connection.isUnreachable = true;
  audit.record(ISSUED);
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  t.is(logger.lines.length, before + 1, 'the next outage has one');
});

test('at most 5000 events wait; older ones are dropped, and their number is logged', async (t) => {
  const { audit, logger, store, connection } = start();
  connection.isUnreachable = true;
  for (let count = 0; count < 12_000; count += 1) {
    audit.record({ ...ISSUED, grantType: String(count) });
  }
  await t.throwsAsync(audit.flush(), { code: 'ERR_STORAGE' });
  connection.isUnreachable = false;
  await audit.flush();
  const stored = grantTypes(await store.list({ limit: 12_000 }));
  t.is(stored.length, 5000);
  t.is(stored[0], '11999');
  t.is(stored.at(-1), '7000');
  const lost = logger.lines.filter(({ message }) => message.includes('lost'));
  t.deepEqual(new Set(lost.map(({ level }) => level)), new Set(['error']));
  t.is(
    lost.reduce((sum, { fields }) => sum + (fields as { lost: number }).lost, 0),
    7000,
  );
});

test('at most 5000 events wait for a storage that does not respond', async (t) => {
  const { audit, store, connection } = start();
  const pause = Promise.withResolvers<void>();
  connection.paused = pause.promise;
  for (let count = 0; count < 12_000; count += 1) audit.record({ ...ISSUED, grantType: String(count) });
  pause.resolve();
  await audit.flush();
  const stored = grantTypes(await store.list({ limit: 12_000 }));
  t.is(stored.length, 256 + 5000, 'those of the write in progress, and those that waited');
  t.is(stored[0], '11999');
});

test('an event whose write was reported as failed although it succeeded is stored once', async (t) => {
  const { audit, store } = start();
  const append = store.append.bind(store);
  let isFirst = true;
  store.append = async (...given) => {
    await append(...given);
    if (isFirst) {
      isFirst = false;
      throw new StorageError('the response was lost');
    }
  };
  audit.record(ISSUED);
  await t.throwsAsync(audit.flush());
  await audit.flush();
  t.is((await store.list({})).length, 1);
});

test('with a retention of 0 nothing is stored, and listeners are called', async (t) => {
  const { audit, writes } = start({ retention: 0 });
  let calls = 0;
  audit.on('*', () => void (calls += 1));
  audit.record(ISSUED);
  audit.record(REFUSED);
  await audit.flush();
  t.is(calls, 2);
  t.deepEqual(writes, []);
  t.deepEqual(await audit.list(), []);
});

test('the number of stored events of refused requests is limited; listeners are called for each', async (t) => {
  const { audit, logger, store } = start();
  let calls = 0;
  audit.on('token_refused', () => void (calls += 1));
  for (let count = 0; count < 1500; count += 1) audit.record(REFUSED);
  for (let count = 0; count < 1500; count += 1) audit.record(ISSUED);
  await audit.flush();
  t.is(calls, 1500);
  const stored = await store.list({ types: ['token_refused'], limit: 5000 });
  t.true(stored.length >= 1000 && stored.length < 1100, String(stored.length));
  t.is((await store.list({ types: ['token_issued'], limit: 5000 })).length, 1500);
  audit.record(ISSUED);
  await audit.flush();
  const line = logger.lines.find(({ message }) => message.startsWith('audit events dropped'));
  t.deepEqual(line?.fields, { left_out: { token_refused: 1500 - stored.length } });
});

test('many events of one type of refused request do not displace those of another type', async (t) => {
  const { audit, logger, store } = start();
  const refused = { type: 'authorization_refused', error: 'invalid_request', reason: 'x' } as const;
  for (let count = 0; count < 2000; count += 1) {
    audit.record(refused);
    audit.record(REFUSED);
  }
  for (let count = 0; count < 20; count += 1) audit.record({ type: 'login_failed' });
  for (let count = 0; count < 20; count += 1)
    audit.record({ type: 'login_throttled' }, { address: `192.0.2.${count}` });
  await audit.flush();
  for (const type of ['login_failed', 'login_throttled'] as const) {
    t.is((await store.list({ types: [type], limit: 5000 })).length, 20, type);
  }
  audit.record(ISSUED);
  await audit.flush();
  const line = logger.lines.find(({ message }) => message.startsWith('audit events dropped'));
  const { left_out: leftOut = {} } = (line?.fields ?? {}) as { left_out?: object };
  t.deepEqual(Object.keys(leftOut), ['authorization_refused', 'token_refused']);
});

const CALLED = {
  type: 'tool_called',
  clientId: 'c',
  userId: 'ann',
  tool: 'list_schools',
  action: 'school/list-schools-action',
  resource: 'https://platform.example/mcp',
} as const;

test('an agent that reads without end cannot fill the database, nor suppress what others do', async (t) => {
  const { audit, store } = start();
  const others = [
    { userId: 'bob' },
    { clientId: 'd' },
    { userId: undefined },
    { clientId: 'ann', userId: 'c' },
  ];
  for (let count = 0; count < 2000; count += 1) audit.record({ ...CALLED, readOnly: true });
  for (const other of others) audit.record({ ...CALLED, readOnly: true, ...other });
  audit.record(ISSUED);
  await audit.flush();
  const stored = await store.list({ types: ['tool_called'], limit: 5000 });
  t.true(stored.length >= 1004 && stored.length < 1500, String(stored.length));
  t.like(stored.slice(0, 4), others.toReversed());
  t.is((await store.list({ types: ['token_issued'] })).length, 1);
});

test('a call that may have changed something is stored, however many there are', async (t) => {
  const { audit, logger, store } = start();
  for (let count = 0; count < 2000; count += 1) {
    audit.record({ ...CALLED, readOnly: true });
    audit.record({ ...CALLED, tool: 'delete_school' });
  }
  await audit.flush();
  const stored = await store.list({ types: ['tool_called'], limit: 5000 });
  t.is(stored.filter((record) => 'tool' in record && record.tool === 'delete_school').length, 2000);
  audit.record(ISSUED);
  await audit.flush();
  const dropped = logger.lines.filter(({ message }) => message.startsWith('audit events dropped'));
  t.is(
    dropped.reduce((sum, { fields }) => sum + (fields as DroppedFields).left_out.tool_called, 0),
    4000 - stored.length,
  );
});

const OF_ANN = { userId: 'ann', clientId: 'c' } as const;
const CONSENT = { ...OF_ANN, scopes: [] } as const;

// Each sets the clock ahead.
for (const [title, event, other, burst, seconds] of [
  ['a throttled login', { type: 'login_throttled' }, { address: '192.0.2.2' }, 1, 900],
  ['a throttled user code', { type: 'user_code_throttled', userId: 'ann' }, { userId: 'bob' }, 1, 900],
  ['a refused consent', { ...CONSENT, type: 'consent_denied' }, { clientId: 'd' }, 10, 900],
  ['a refused device', { ...CONSENT, type: 'device_denied' }, { userId: 'bob' }, 10, 900],
  ['a consent', { ...CONSENT, type: 'consent_given' }, { clientId: 'd' }, 100, 60],
  ['a withdrawn consent', { ...CONSENT, type: 'consent_withdrawn' }, { userId: 'bob' }, 100, 60],
  ['a login', { ...OF_ANN, type: 'login' }, { userId: 'bob' }, 100, 60],
  ['a logout', { type: 'logout', userId: 'ann' }, { userId: 'bob' }, 100, 60],
  ['a wrong user code', { type: 'user_code_refused', userId: 'ann' }, { userId: 'bob' }, 100, 60],
] as const) {
  test.serial(`${title} that is repeated without end is stored a bounded number of times`, async (t) => {
    using _stopped = stopClock();
    const { audit, store } = start();
    const stored = async (times: number, changed: object = {}): Promise<number> => {
      const address = '192.0.2.1';
      const given = { ...event, ...changed } as AuditEvent;
      for (let count = 0; count < times; count += 1) audit.record(given, { address, ...changed });
      await audit.flush();
      return (await store.list({ types: [event.type], limit: 10_000 })).length;
    };
    t.is(await stored(600), burst);
    t.is(await stored(600, other), 2 * burst, 'another share');
    passTime(seconds - 1);
    t.is(await stored(600), 2 * burst);
    passTime(1);
    t.is(await stored(600), 2 * burst + 1);
    passTime(seconds * 100);
    t.is(await stored(600), 3 * burst + 1, 'a burst again');
  });
}

test.serial('throttled logins of any number of addresses have a limit together', async (t) => {
  using _stopped = stopClock();
  const { audit, store } = start();
  for (let count = 0; count < 2000; count += 1)
    audit.record({ type: 'login_throttled' }, { address: `192.0.${count >> 8}.${count & 255}` });
  await audit.flush();
  t.is((await store.list({ types: ['login_throttled'], limit: 5000 })).length, 1000);
});

interface DroppedFields {
  readonly left_out: { readonly tool_called: number };
}

for (const [title, event] of [
  ['of a refused request', REFUSED],
  ['of a user and an app that read', { ...CALLED, readOnly: true }],
] as const) {
  // Sets the clock ahead.
  test.serial(
    `after a flood ten events ${title} are stored each second again, and a burst later`,
    async (t) => {
      using _stopped = stopClock();
      const { audit, store } = start();
      const stored = async (): Promise<number> => {
        for (let count = 0; count < 1500; count += 1) audit.record(event);
        await audit.flush();
        return (await store.list({ types: [event.type], limit: 10_000 })).length;
      };
      t.is(await stored(), 1000);
      t.is(await stored(), 1000);
      passTime(1);
      t.is(await stored(), 1010);
      passTime(30);
      t.is(await stored(), 1310);
      passTime(3600);
      t.is(await stored(), 2310);
    },
  );
}

test('an address that is not an IP address is not recorded', async (t) => {
  const { audit } = start();
  const addresses: unknown[] = [];
  audit.on('*', (record) => addresses.push(record.address));
  for (const address of [
    '192.0.2.7',
    '2001:db8::1',
    '::ffff:192.0.2.7',
    'fe80::1%eth0',
    `fe80::1%${'x'.repeat(5000)}`,
    'unknown',
    '192.0.2.7, 192.0.2.8',
    '<script>',
    '',
    undefined,
  ]) {
    audit.record(ISSUED, { address });
  }
  const link = 'fe80::1';
  t.deepEqual(addresses.slice(0, 5), ['192.0.2.7', '2001:db8::1', '::ffff:192.0.2.7', link, link]);
  t.deepEqual(new Set(addresses.slice(5)), new Set([undefined]));
});

test('an id that is too long or has a NUL is shortened, so that the batch can be written', async (t) => {
  const { audit } = start();
  audit.record({ type: 'tokens_revoked', target: 'user', userId: 'x'.repeat(100_000) });
  audit.record({ type: 'tokens_revoked', target: 'user', userId: 'a\0b' });
  const records = await audit.list();
  t.deepEqual(
    records.map((record) => 'userId' in record && record.userId),
    ['ab', 'x'.repeat(255)],
  );
});

test('a listener cannot change the record', async (t) => {
  const { audit } = start();
  audit.on('*', (record) => {
    t.throws(() => Object.assign(record, { type: 'login' }));
  });
  audit.record(ISSUED);
  t.is((await audit.list())[0]?.type, 'token_issued');
});

test('audit.list() returns 1 to 200 records', async (t) => {
  const { audit } = start();
  for (const limit of [0, -1, 201, 1.5, Number.NaN, '10' as unknown as number]) {
    await t.throwsAsync(audit.list({ limit }), {
      code: 'ERR_CONFIG',
      message: 'audit.list(): limit is a number from 1 to 200',
    });
  }
  for (let count = 0; count < 300; count += 1) audit.record(ISSUED);
  t.is((await audit.list()).length, 50);
  const page = await audit.list({ limit: 200 });
  const rest = await audit.list({ limit: 200, before: page.at(-1) });
  t.is(new Set([...page, ...rest].map(({ id }) => id)).size, 300);
});

test('audit.list() rejects with ERR_STORAGE when the storage is unreachable', async (t) => {
  const { audit, store } = start();
  store.list = async () => Promise.reject(new StorageError('unreachable'));
  await t.throwsAsync(audit.list(), { code: 'ERR_STORAGE' });
});
