import { setTimeout as wait } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient } from '../../storage/rows.ts';
import type { Storage } from '../../../lib/contracts/index.ts';
import { onEachDatabase, sqlite } from '../../adapters/databases.ts';
import { openSchools, transact } from '../../adapters/schools.ts';
import { connectHost } from '../../adapters/host-knex.ts';

const KINDS = ['a file', 'a Knex instance of the host'] as const;

async function openStorage(
  t: ExecutionContext,
  kind: (typeof KINDS)[number],
  address: string,
): Promise<Storage> {
  const host = connectHost('better-sqlite3', address);
  const storage = knexStorage(kind === 'a file' ? address : host);
  t.teardown(async () => {
    await storage.close();
    await host.destroy();
  });
  await storage.migrate();
  return storage;
}

for (const kind of KINDS) {
  onEachDatabase(
    `with ${kind}, a request does not wait for more than one queued transaction of the host`,
    async (t, _database, address) => {
      const storage = await openStorage(t, kind, address);
      const order: string[] = [];
      const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const first = transact(storage, async (transaction) => {
        await transaction.raw('select 1');
        begun.resolve();
        await end.promise;
        order.push('first');
      });
      await begun.promise;
      const others = ['second', 'third', 'fourth'].map(async (name) =>
        transact(storage, async (transaction) => {
          await transaction.raw('select 1');
          order.push(name);
        }),
      );
      // Like a request: several calls, one after the other, with other work in between.
      const request = (async () => {
        for (let call = 0; call < 4; call += 1) {
          await storage.attempts.count([{ id: `call ${call}`, limit: 5 }], { now: 1, expiresAt: 2e9 });
          await new Promise(setImmediate);
        }
        order.push('request');
      })();
      await wait(300);
      end.resolve();
      await Promise.all([first, ...others, request]);
      t.deepEqual(order, ['first', 'request', 'second', 'third', 'fourth']);
    },
    [sqlite],
  );
}

onEachDatabase(
  'with a file, reads do not wait for a transaction of the host, and do not see its changes',
  async (t, _database, address) => {
    const storage = await openStorage(t, 'a file', address);
    const { id, ...fields } = aClient();
    await storage.clients.insert({ id, ...fields }, []);
    await transact(storage, async (transaction) => {
      await transaction('gatehouse_clients').where({ id }).update({ name: 'another' });
      // Awaited inside the transaction: a read that waited for its end would never resolve.
      t.is((await storage.clients.find(id))?.client.name, fields.name);
    });
    t.is((await storage.clients.find(id))?.client.name, 'another');
  },
  [sqlite],
);

onEachDatabase(
  'a transaction that waits too long in the queue rejects, and the next ones run',
  async (t, database, address) => {
    const { storage } = await openSchools(t, database, address, { timeout: 1000 });
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = transact(storage, async () => {
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    await t.throwsAsync(
      transact(storage, async () => {}),
      { code: 'ERR_STORAGE' },
    );
    end.resolve();
    await first;
    await transact(storage, async () => {});
  },
  [sqlite],
);

onEachDatabase(
  'a transaction may read first and write later while other connections write',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const other = knexStorage(address);
    t.teardown(async () => other.close());
    // Two storages, so that SQLite itself serializes them.
    await Promise.all(
      Array.from({ length: 10 }, async () => Promise.all([countAndAdd(storage), countAndAdd(other)])),
    );
    t.deepEqual(
      await names(),
      Array.from({ length: 20 }, (_, index) => String(index).padStart(2, '0')),
    );
  },
  [sqlite],
);

/** Adds a school named after the number of schools. */
async function countAndAdd(storage: Storage): Promise<void> {
  await transact(storage, async (transaction) => {
    const count = (await transaction('schools').select()).length;
    await wait(1);
    await transaction('schools').insert({ name: String(count).padStart(2, '0') });
  });
}
