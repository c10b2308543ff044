// Alone: it replaces the timers of Node.
import { mock } from 'node:test';

import test from 'ava';

import { startLease, LEASE } from '../../lib/api/answer-once.ts';
import type { IdempotencyStore } from '../../lib/contracts/index.ts';
import { StorageError } from '../../lib/errors.ts';
import { createPlatform } from '../access/platform.ts';

type Extend = IdempotencyStore['extend'];

/** A lease with the given store function and a mocked clock. */
function beginLease(extend: Extend) {
  mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1_000_000 });
  const calls: Parameters<Extend>[] = [];
  const { log, logger } = createPlatform();
  const attempt = { id: 'request', attempt: 'first' };
  const store = {
    async extend(...given: Parameters<Extend>) {
      calls.push(given);
      return extend(...given);
    },
  };
  return { calls, attempt, log, lease: startLease(store, attempt, logger) };
}

test.afterEach(() => mock.timers.reset());

test.serial('a lease is renewed every third of its duration, until it is released', async (t) => {
  const { calls, attempt, lease } = beginLease(async () => true);
  t.is(LEASE, 30);
  mock.timers.tick(9_999);
  t.is(calls.length, 0);
  mock.timers.tick(1);
  t.deepEqual(calls, [[attempt, 1010 + LEASE]]);
  await new Promise((resolve) => setImmediate(resolve));
  mock.timers.tick(10_000);
  t.deepEqual(calls[1], [attempt, 1020 + LEASE]);
  await lease.release();
  mock.timers.tick(60_000);
  t.is(calls.length, 2);
  t.false(lease.signal.aborted);
});

test.serial('when another attempt has taken over, the signal is aborted', async (t) => {
  const { lease } = beginLease(async () => false);
  mock.timers.tick(10_000);
  await lease.release();
  t.true(lease.signal.aborted);
});

test.serial('a renewal that fails is repeated', async (t) => {
  const { calls, lease, log } = beginLease(async () => {
    throw new StorageError('gone');
  });
  mock.timers.tick(10_000);
  await new Promise((resolve) => setImmediate(resolve));
  mock.timers.tick(10_000);
  await lease.release();
  t.is(calls.length, 2);
  t.false(lease.signal.aborted);
  t.deepEqual(
    log.map(({ message }) => message),
    Array.from({ length: 2 }, () => 'renewing the lease of an idempotent request failed'),
  );
});
