// What ends here is revoked in Passport's tables, whatever happens in between.
import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { createAdministration } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { passTime } from '../../harness/clock.ts';
import { startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { around } from '../../harness/storage.ts';
import { until } from '../../harness/until.ts';
import { issue } from '../../laravel-passport/laravel.ts';
import { codeOf, moveIn, refresh, REFUSED, startLaravel } from '../../laravel-passport/moved-platform.ts';
import type { Laravel } from '../../laravel-passport/moved-platform.ts';
import type { LaravelPassportSource } from '../../../lib/features/laravel-passport/types.ts';

const DAY = 86_400;

type Token = Awaited<ReturnType<typeof issue>>;

const earlier = async ({ database }: Laravel, userId: number): Promise<Token> =>
  issue(database, { clientId: 7, userId, issuedAt: Math.floor(Date.now() / 1000) - 60, expiresIn: 30 * DAY });

const isMarked = async ({ database }: Laravel, { id }: Token): Promise<boolean> =>
  Boolean((await database('oauth_access_tokens').where({ id }))[0].revoked);

/** The kinds of the ends that are not revoked at Passport yet, also of those that a node has taken. */
async function unrevoked(storage: Storage): Promise<readonly string[]> {
  const [now, leasedUntil] = [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER];
  const ends = await storage.ends.take('passport', { now, leasedUntil, limit: 100 });
  await storage.ends.release(ends, Math.floor(Date.now() / 1000));
  return ends.map(({ kind }) => kind).toSorted();
}

/** Has the reader of a server look for ends at once, of which others would be seen within seconds. */
const wake = async ({ auth }: Pick<Platform, 'auth'>): Promise<unknown> =>
  auth.userGrants.revoke('1', { clientId: 'none' });

/** A source that fails while it is away, and counts the calls that change something. */
function breakable(source: LaravelPassportSource): {
  isAway: boolean;
  changes: number;
  source: LaravelPassportSource;
} {
  const state = {
    isAway: false,
    changes: 0,
    source: {
      ...source,
      async revoke(...of: Parameters<LaravelPassportSource['revoke']>) {
        state.changes += 1;
        if (state.isAway) throw new Error('away');
        await source.revoke(...of);
      },
    },
  };
  return state;
}

onEachDatabaseInSeries(
  'while the tables of Laravel are away, what ends is refused here, and is revoked there when they are back, however late',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    const storage = knexStorage(address);
    const laravelDatabase = breakable(laravel.source);
    await using platform = await moveIn({ ...laravel, source: laravelDatabase.source }, { storage });
    const [ofUser, ofApp, ofClient] = [await earlier(laravel, 42), await earlier(laravel, 7)].concat(
      await issue(laravel.database, { clientId: 7 }),
    );
    laravelDatabase.isAway = true;
    await platform.auth.revoke({ userId: '42' });
    await platform.auth.userGrants.revoke('7', { clientId: '7' });
    await platform.auth.revoke({ token: ofClient!.accessToken });
    for (const token of [ofUser!, ofApp!, ofClient!])
      t.is(await codeOf(platform, token.accessToken), 'token_revoked');
    for (const token of [ofUser!, ofApp!])
      t.like(await refresh(platform, laravel, token.refreshToken), REFUSED);
    await until(() => laravelDatabase.changes > 0);
    await until(() =>
      platform.logger.lines.some(
        ({ message }) => message === 'what has ended was not revoked in the tables of Passport',
      ),
    );

    // In steps, in each of which the servers say that they go on.
    for (let days = 0; days < 4; days += 1) {
      const { changes } = laravelDatabase;
      passTime(DAY);
      await wake(platform);
      await until(() => laravelDatabase.changes > changes);
      await platform.auth.prune();
      t.is(await codeOf(platform, ofApp!.accessToken), 'token_revoked');
    }
    t.false(await isMarked(laravel, ofApp!));
    laravelDatabase.isAway = false;
    passTime(11);
    await wake(platform);
    for (const token of [ofUser!, ofApp!, ofClient!]) await until(async () => isMarked(laravel, token));
    await until(async () => (await unrevoked(storage)).length === 0);
    t.is(await codeOf(platform, ofApp!.accessToken), 'token_revoked');
  },
);

onEachDatabaseInSeries(
  'an end that cannot be revoked at Passport holds up no other one, and is taken again after ten seconds',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    let refused = 0;
    const source: LaravelPassportSource = {
      ...laravel.source,
      async revoke(selector) {
        if ('userId' in selector && selector.userId === '42') {
          refused += 1;
          if (refused < 3) throw new Error('no');
        }
        await laravel.source.revoke(selector);
      },
    };
    await using platform = await moveIn({ ...laravel, source }, { storage: knexStorage(address) });
    const [never, other] = [await earlier(laravel, 42), await earlier(laravel, 7)];
    await platform.auth.revoke({ userId: '42' });
    await until(() => refused === 1);
    await platform.auth.revoke({ userId: '7' });
    t.false(await isMarked(laravel, other));
    passTime(11);
    await platform.auth.revoke({ userId: '1' });
    await until(async () => isMarked(laravel, other));
    await until(() => refused === 2);
    passTime(11);
    await platform.auth.revoke({ userId: '1' });
    await until(async () => isMarked(laravel, never));
    t.is(refused, 3);
  },
);

onEachDatabaseInSeries(
  'a process that dies between the mark and the removal of an end leaves it to another one, and no app comes back',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    let deaths = 0;
    const mortal = around(knexStorage(address), async (name, call) => {
      if (name !== 'ends.done') return call();
      deaths += 1;
      throw new Error('killed');
    });
    const token = await earlier(laravel, 42);
    {
      await using platform = await moveIn(laravel, { storage: mortal });
      await platform.auth.userGrants.revoke('42', { clientId: '7' });
      await until(() => deaths > 0);
      t.true(await isMarked(laravel, token));
      t.is(await codeOf(platform, token.accessToken), 'token_revoked');
    }
    t.deepEqual(new Set(await unrevoked(storage)), new Set(['connection']));
    // Whoever has un-marked it there has not connected the app here.
    await laravel.database('oauth_access_tokens').update({ revoked: false });
    const { changes, ...another } = breakable(laravel.source);
    t.is(changes, 0);
    await using platform = await moveIn({ ...laravel, ...another }, { storage: knexStorage(address) });
    await until(async () => (await unrevoked(storage)).length === 0);
    t.true(await isMarked(laravel, token));
    t.is(await codeOf(platform, token.accessToken), 'token_revoked');
    t.deepEqual((await platform.auth.userGrants.list('42')).clients, []);
  },
);

onEachDatabaseInSeries(
  'a disconnection is kept for a server with Passport until its date, whatever servers run, and nothing else is',
  async (t, _, address) => {
    await using laravel = await startLaravel('11');
    const date = new Date(Date.now() + 20 * DAY * 1000);
    const token = await earlier(laravel, 42);
    await using first = await moveIn(laravel, { storage: knexStorage(address), passport: { until: date } });
    await first[Symbol.asyncDispose]();
    passTime(3 * DAY);
    const storage = knexStorage(address);
    await using without = await startPlatform({ storage });
    await without.auth.prune();
    await without.auth.userGrants.revoke('42', { clientId: '7' });
    await without.auth.revoke({ userId: '7' });
    await without.auth.prune();
    t.deepEqual(new Set(await unrevoked(storage)), new Set(['connection']));
    t.false(await isMarked(laravel, token));
    {
      await using again = await moveIn(laravel, { storage: knexStorage(address), passport: { until: date } });
      t.is(await codeOf(again, token.accessToken), 'token_revoked');
      await until(async () => isMarked(laravel, token));
    }
    // After the date no token is accepted, so that nobody asks.
    await without.auth.userGrants.revoke('42', { clientId: '7' });
    t.true((await unrevoked(storage)).length > 0);
    passTime(18 * DAY);
    await without.auth.prune();
    t.deepEqual(await unrevoked(storage), []);
    await without.auth.userGrants.revoke('42', { clientId: '7' });
    t.deepEqual(await unrevoked(storage), []);
  },
);

onEachDatabaseInSeries('what a command ends is told by a server', async (t, _, address) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel, { storage: knexStorage(address) });
  const token = await earlier(laravel, 42);
  const administration = createAdministration({ storage: knexStorage(address) });
  t.teardown(async () => administration.close());
  const clients = laravel.database('oauth_clients');
  const told = async (isRevoked: boolean): Promise<void> =>
    until(async () => {
      await wake(platform);
      return Boolean((await clients.clone())[0].revoked) === isRevoked;
    });

  await administration.revoke({ userId: '42' });
  await administration.clients.disable('7');
  await told(true);
  t.true(await isMarked(laravel, token));
  await administration.clients.enable('7');
  await told(false);

  await clients.clone().update({ revoked: true });
  await administration.clients.update('7', { name: 'Another name' });
  const last = await earlier(laravel, 7);
  await administration.revoke({ userId: '7' });
  await wake(platform);
  await until(async () => isMarked(laravel, last));
  t.is((await clients.clone())[0].revoked, 1, 'only what disables it here is written there');

  await clients.clone().update({ revoked: false });
  await administration.clients.delete('7');
  await told(true);
});

test.serial(
  'a Laravel database that hangs does not keep the server from closing',
  async (t: ExecutionContext) => {
    await using laravel = await startLaravel('11');
    const hanging = Promise.withResolvers<void>();
    const source: LaravelPassportSource = { ...laravel.source, revoke: async () => hanging.promise };
    await using platform = await moveIn({ ...laravel, source });
    await platform.auth.revoke({ userId: '42' });
    await platform.auth.close({ timeout: '9 seconds' });
    hanging.reject(new Error('away'));
    await hanging.promise.catch(() => {});
    const warnings = platform.logger.lines.filter(({ level }) => level === 'warn' || level === 'error');
    t.deepEqual(
      warnings.map(({ message }) => message).filter((message) => !message.startsWith('the storage loses')),
      [],
    );
  },
);
