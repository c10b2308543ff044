import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aSession, NOW } from '../../storage/rows.ts';
import { postgresql } from '../../adapters/databases.ts';
import { openHost } from '../../adapters/host-knex.ts';

/** What the driver gives for each error of its server, also of a statement that is repeated afterwards. */
interface Connection {
  readonly connection: { on(event: 'errorMessage', listener: (error: { code: string }) => unknown): void };
}

// A server that finds a deadlock has waited for a second, and of many calls at once each repetition may meet another one.
async function openRecorded(t: ExecutionContext): Promise<{ storage: Storage; errors: string[] }> {
  const errors: string[] = [];
  const host = openHost(t, postgresql.client, await postgresql.cleared(), {
    max: 10,
    afterCreate({ connection }: Connection, done: () => void): void {
      connection.on('errorMessage', ({ code }) => errors.push(code));
      done();
    },
  });
  const storage = knexStorage(host);
  t.teardown(async () => storage.close());
  await storage.migrate();
  errors.length = 0;
  return { storage, errors };
}

postgresql.register(
  'calls that end the same sessions at once wait for each other, without a deadlock',
  async (t) => {
    const { errors, storage } = await openRecorded(t);
    const { grants, sessions } = storage;
    for (let round = 0; round < 5; round += 1) {
      const userId = `user ${round}`;
      const ids = Array.from({ length: 20 }, (_, number) => `${round} of ${(number * 7) % 20}`);
      for (const id of ids) {
        await sessions.insert(aSession({ id, uid: id, userId }));
        await grants.insert(aGrant({ id, userId, sessionUid: id }), aCode({ id, grantId: id }));
      }
      const ended = await Promise.all([
        ...ids.slice(0, 5).map(async (kept) => sessions.endOthers(userId, kept, NOW)),
        ...ids.map(async (id) => sessions.end(id, userId)),
      ]);
      t.is(
        ended.reduce((sum: number, number) => sum + Number(number), 0),
        20,
      );
    }
    t.deepEqual(errors, []);
  },
);

postgresql.register(
  'calls that end the same unused grants at once wait for each other, without a deadlock',
  async (t) => {
    const { errors, storage } = await openRecorded(t);
    for (let round = 0; round < 5; round += 1) {
      const user = { userId: `user ${round}`, clientId: 'timetable' };
      const add = async (id: string, createdAt: number): Promise<unknown> =>
        storage.grants.insert(aGrant({ ...user, id, createdAt }), aCode({ id, grantId: id }));
      for (let number = 0; number < 40; number += 1)
        await add(`${round} old ${(number * 17) % 40}`, NOW - number);
      await Promise.all(
        Array.from({ length: 20 }, async (_, number) => {
          const kept = `${round} ${number}`;
          await add(kept, NOW + number);
          await storage.grants.endUnused({ ...user, kept }, 40, NOW);
        }),
      );
      t.is((await storage.grants.list(user.userId, { now: NOW, limit: 100 })).length, 40);
    }
    t.deepEqual(errors, []);
  },
);
