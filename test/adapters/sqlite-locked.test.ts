import { setImmediate as nextTurn } from 'node:timers/promises';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { aCode, aGrant, aRefreshToken } from '../../lib/testing/storage/rows.ts';
import { temporaryFile } from './temporary-file.ts';
import { connectHost } from './host-knex.ts';

/** A storage with one code, and a second program with the same file open. */
async function openTwice(
  t: ExecutionContext,
  timeout: number,
): Promise<{ storage: Storage; other: Knex; filename: string }> {
  const filename = temporaryFile();
  const storage = knexStorage(filename, { timeout: `${timeout} ms` });
  const other = connectHost('better-sqlite3', `sqlite:${filename}`);
  t.teardown(async () => {
    await other.destroy();
    await storage.close();
  });
  await storage.migrate();
  await storage.grants.insert(aGrant(), aCode());
  return { storage, other, filename };
}

const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };

test('calls on a locked file reject within the timeout, and nothing is changed', async (t) => {
  const { storage, other } = await openTwice(t, 500);
  await other.raw('begin immediate');
  const startedAt = performance.now();
  const calls = await Promise.allSettled(
    Array.from({ length: 50 }, async () => storage.grants.redeem(aCode(), exchange)),
  );
  // One after another, they would take 25 seconds.
  t.true(performance.now() - startedAt < 12_500);
  for (const call of calls) {
    t.like(call, { status: 'rejected', reason: { code: 'ERR_STORAGE', status: 503 } });
  }
  t.is((await storage.grants.findCredential('code', aCode().id))?.credential.consumedAt, undefined);

  await other.raw('rollback');
  t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
});

test('waiting for a lock does not block the event loop', async (t) => {
  const { storage, other } = await openTwice(t, 60_000);
  await assertNotBlocking(t, storage, other);
});

test("waiting for a lock does not block the event loop, on a host's connection", async (t) => {
  const { storage, other, filename } = await openTwice(t, 60_000);
  await storage.close();
  const host = connectHost('better-sqlite3', `sqlite:${filename}`);
  t.teardown(async () => host.destroy());
  // Knex opens files with a busy timeout of five seconds, which blocks the thread.
  t.deepEqual(await host.raw('pragma busy_timeout'), [{ timeout: 5000 }]);
  await assertNotBlocking(t, knexStorage(host, { timeout: '1 minute' }), other);
});

async function assertNotBlocking(t: ExecutionContext, storage: Storage, other: Knex): Promise<void> {
  await other.raw('begin immediate');
  const startedAt = performance.now();
  const redemption = storage.grants.redeem(aCode(), exchange);
  for (let turn = 0; turn < 100; turn += 1) {
    await nextTurn();
    t.is((await storage.grants.findCredential('code', aCode().id))?.credential.consumedAt, undefined);
  }
  t.true(performance.now() - startedAt < 5000);
  await other.raw('rollback');
  t.deepEqual(await redemption, { outcome: 'redeemed' });
}

test('a file that is locked for reading too is a StorageError', async (t) => {
  const { storage, other, filename } = await openTwice(t, 50);
  await storage.close();
  await other.raw('pragma journal_mode = delete');
  await other.raw('begin exclusive');
  const late = knexStorage(filename, { timeout: '50 ms' });
  t.teardown(async () => late.close());
  const error = await t.throwsAsync(late.grants.find(aGrant().id), { code: 'ERR_STORAGE' });
  t.is(
    error?.message,
    'The database stayed locked by another connection for 50 ms. Nothing was changed; try again.',
  );
  await other.raw('rollback');
  t.deepEqual(await late.grants.find(aGrant().id), aGrant());
});
