import { setImmediate as nextTurn } from 'node:timers/promises';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken } from '../storage/rows.ts';
import { connectHost, openHost } from './host-knex.ts';
import { temporaryFile } from './temporary-file.ts';
import { transact } from './schools.ts';

const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };
const LOCKED = {
  code: 'ERR_STORAGE',
  message: 'The database stayed locked by another connection for 1000 ms. Nothing was changed; try again.',
};

/** A file with one code, and a second program that has it open. */
async function openFile(t: ExecutionContext): Promise<{ filename: string; other: Knex }> {
  const filename = temporaryFile();
  const storage = knexStorage(filename);
  await storage.migrate();
  await storage.grants.insert(aGrant(), aCode());
  await storage.close();
  const other = openHost(t, 'better-sqlite3', `sqlite:${filename}`);
  return { filename, other };
}

for (const whose of ['its own connection', "a host's connection"]) {
  test(`on ${whose}, calls on a locked file wait without blocking, and reject after the timeout`, async (t) => {
    const { filename, other } = await openFile(t);
    // Knex opens files with a busy timeout of five seconds, which blocks the thread.
    const host = connectHost('better-sqlite3', `sqlite:${filename}`);
    const database = whose === 'its own connection' ? filename : host;
    const [patient, impatient] = [
      knexStorage(database, { timeout: '1 minute' }),
      knexStorage(database, { timeout: '1 second' }),
    ];
    t.teardown(async () => {
      for (const storage of [patient, impatient]) await storage.close();
      await host.destroy();
    });

    await other.raw('begin immediate');
    const startedAt = performance.now();
    const waiting = patient.grants.redeem(aCode(), exchange);
    for (let turn = 0; turn < 100; turn += 1) {
      await nextTurn();
      const found = await patient.grants.findCredential('code', aCode().id);
      t.is(found?.credential.consumedAt, undefined);
    }
    t.true(performance.now() - startedAt < 5000);
    let runs = 0;
    await t.throwsAsync(
      transact(impatient, async () => (runs += 1)),
      LOCKED,
    );
    t.is(runs, 0);
    // One after another, they would take 50 seconds.
    const calls = Array.from({ length: 50 }, async () =>
      t.throwsAsync(impatient.grants.redeem(aCode(), exchange), LOCKED),
    );
    for (const error of await Promise.all(calls)) t.like(error, { status: 503 });
    t.true(performance.now() - startedAt < 20_000);

    await other.raw('rollback');
    t.deepEqual(await waiting, { outcome: 'redeemed' });
    t.is((await impatient.grants.redeem(aCode(), exchange)).outcome, 'spent');
  });
}

test('a file that is locked for reading too is a StorageError', async (t) => {
  const { filename, other } = await openFile(t);
  await other.raw('pragma journal_mode = delete');
  await other.raw('begin exclusive');
  const late = knexStorage(filename, { timeout: '1 second' });
  t.teardown(async () => late.close());
  await t.throwsAsync(late.grants.find(aGrant().id), LOCKED);
  await other.raw('rollback');
  t.deepEqual(await late.grants.find(aGrant().id), aGrant());
});

test.serial('state() says for a minute why a change has failed', async (t) => {
  const { filename, other } = await openFile(t);
  const storage = knexStorage(filename, { timeout: '100 ms' });
  t.teardown(async () => storage.close());
  t.is((await storage.state()).failing, undefined);
  await other.raw('begin immediate');
  await t.throwsAsync(storage.sessions.delete('of nobody'), { code: 'ERR_STORAGE' });
  await other.raw('rollback');
  t.is((await storage.state()).failing, 'database_locked');
  const now = performance.now.bind(performance);
  t.teardown(() => {
    performance.now = now;
  });
  performance.now = () => now() + 61_000;
  t.is((await storage.state()).failing, undefined);
});
