import test from '../harness/test.ts';
import { StorageError } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Storage } from 'koa-gatehouse';

import { createServerKeys } from '../../lib/server/keys.ts';
import type { ServerKeys } from '../../lib/server/keys.ts';
import { resolveOptions } from '../../lib/options/resolve.ts';
import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { openStorage } from '../adapters/host-knex.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { gate, people } from '../harness/platform.ts';
import { around, breakable } from '../harness/storage.ts';

const DAY = 86_400;

/** The keys of a server with the default options. */
async function keysOf(
  storage: Storage,
  given: { tokens?: { keyRotation: number | string }; secrets?: { cookieKeys: string[] } } = {},
): Promise<ServerKeys> {
  const options = { issuer: 'https://platform.example', users: people(), storage, gate, ...given };
  const resolved = resolveOptions(options as Parameters<typeof resolveOptions>[0], gate);
  return createServerKeys(resolved, { audit: { record() {} } });
}

/** When the keys for a use retire, from the oldest on. */
async function retirements(storage: Storage, use: 'token' | 'cookie'): Promise<readonly unknown[]> {
  return (await storage.keys.list(use)).map(({ retiresAt }) => retiresAt);
}

const now = (): number => Math.floor(Date.now() / 1000);

onEachDatabaseInSeries(
  'keys are replaced after 90 days, once for all nodes, again and again',
  async (t, _database, address) => {
    using _stopped = stopClock();
    const storage = await openStorage(t, address);
    const nodes = [await keysOf(storage), await keysOf(await openStorage(t, address))];
    const secrets = nodes[0]!.secrets();
    t.deepEqual(nodes[1]!.secrets(), secrets);
    for (let round = 1; round <= 3; round += 1) {
      passTime(90 * DAY - 1 - (round === 1 ? 0 : 60));
      await Promise.all(nodes.map(async (node) => node.maintain()));
      t.is((await storage.keys.list('token')).length, round);
      passTime(1);
      await Promise.all(nodes.map(async (node) => node.maintain()));
      await Promise.all(nodes.map(async (node) => node.maintain()));
      for (const use of ['token', 'cookie'] as const) {
        const stored = await storage.keys.list(use);
        t.deepEqual(
          stored.map(({ generation }) => generation),
          [...stored.keys()].map((index) => index + 1),
        );
        t.is(stored.length, round + 1, use);
        t.is(stored.at(-1)!.activeAt, now() + 60, 'every node reads it first');
        t.is(stored.at(-1)!.retiresAt, undefined);
        t.is(stored.at(-2)!.retiresAt, now() + 60 + (use === 'token' ? 365 : 180) * DAY);
      }
      await nodes[0]!.read();
      const [first, next] = nodes[0]!.secrets();
      passTime(60);
      await nodes[0]!.read();
      t.deepEqual(nodes[0]!.secrets().slice(0, 2), [next!, first!]);
    }
  },
);

test.serial(
  'a cookie key is replaced every 30 days at most, and not at all without keyRotation',
  async (t) => {
    using _stopped = stopClock();
    const storage = memoryStorage();
    const often = await keysOf(storage, { tokens: { keyRotation: '1 day' } });
    const never = await keysOf(storage, { tokens: { keyRotation: 0 } });
    passTime(29 * DAY);
    await often.maintain();
    await often.rotate();
    t.is((await storage.keys.list('token')).length, 3);
    t.is((await storage.keys.list('cookie')).length, 1);
    passTime(DAY);
    await never.maintain();
    t.is((await storage.keys.list('cookie')).length, 1);
    await often.maintain();
    t.is((await storage.keys.list('cookie')).length, 2);
    passTime(30 * DAY);
    // At once, but no cookie key that other nodes have not read.
    t.is((await never.rotate(0)).activeAt, now());
    t.is((await storage.keys.list('cookie')).length, 3);
    t.is((await storage.keys.list('cookie')).at(-1)!.activeAt, now() + 60);
  },
);

test.serial('with the option cookieKeys none is stored, and the given ones stay', async (t) => {
  const storage = memoryStorage();
  const cookieKeys = ['one of more than 32 characters, given', 'two of more than 32 characters, given'];
  const keys = await keysOf(storage, { secrets: { cookieKeys } });
  passTime(100 * DAY);
  await keys.maintain();
  await keys.read();
  t.deepEqual(keys.secrets(), cookieKeys);
  t.deepEqual(await storage.keys.list('cookie'), []);
  t.is((await storage.keys.list('token')).length, 2);
});

onEachDatabaseInSeries(
  'a rotation that was interrupted is completed, so that its former keys retire',
  async (t, _database, address) => {
    using _stopped = stopClock();
    const storage = await openStorage(t, address);
    const healthy = await keysOf(storage, { tokens: { keyRotation: 0 } });
    const failing = breakable(storage);
    failing.broken.add('keys.retire');
    const interrupted = await keysOf(failing.storage);
    passTime(30 * DAY);
    // The first one stops at the cookie keys.
    await t.throwsAsync(interrupted.rotate(), { instanceOf: StorageError });
    await t.throwsAsync(interrupted.rotate(), { instanceOf: StorageError });
    for (const use of ['cookie', 'token'] as const)
      t.deepEqual(await retirements(storage, use), [undefined, undefined], use);

    passTime(DAY);
    await healthy.read();
    await healthy.maintain();
    const end = now() - DAY + 60;
    for (const [use, days] of [
      ['cookie', 180],
      ['token', 365],
    ] as const)
      t.deepEqual(await retirements(storage, use), [end + days * DAY, undefined], use);
  },
);

test.serial(
  'a node knows the key that it has made, also when it was reading the keys meanwhile',
  async (t) => {
    const inner = memoryStorage();
    let hold: Promise<void> | undefined;
    const storage = around(inner, async (name, call) => {
      const held = name === 'keys.list' ? hold : undefined;
      const result = await call();
      await held;
      return result;
    });
    const keys = await keysOf(storage);
    const holding = Promise.withResolvers<void>();
    hold = holding.promise;
    const reading = keys.tokens.read();
    hold = undefined;
    const rotated = keys.tokens.rotate(0);
    while ((await inner.keys.list('token')).length < 2) await new Promise(setImmediate);
    holding.resolve();
    const [key] = await Promise.all([rotated, reading]);
    t.is(key.id, (await inner.keys.list('token')).at(-1)!.id);
    t.is(keys.tokens.list()[0]!.id, key.id);
  },
);
