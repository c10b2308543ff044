import { passTime } from '../harness/clock.ts';

import type { End } from '../../lib/contracts/index.ts';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { openHost, openNodes } from '../adapters/host-knex.ts';
import { createEndReader } from '../../lib/outbox/end-reader.ts';
import { aCode, aGrant } from '../storage/rows.ts';

const HOUR = 3600;

const now = (): number => Math.floor(Date.now() / 1000);

onEachDatabaseInSeries(
  'an outage of three days loses no end of a reader that goes on, and those of one that is gone are pruned in batches',
  async (t, { client }, address) => {
    const [storage, other] = openNodes(t, 2, address);
    await storage.migrate();
    const host = openHost(t, client, address);
    const read: string[] = [];
    let isAway = true;
    const reader = createEndReader(storage.ends, {
      name: 'waits',
      kinds: ['grant', 'user'],
      async handle(ends: readonly End[]) {
        if (isAway) throw new Error('its tables are away');
        read.push(...ends.map(({ value }) => value));
        await storage.ends.done(ends);
      },
    });
    await reader.register();
    await createEndReader(other!.ends, {
      name: 'is gone',
      kinds: ['grant'],
      handle: async () => {},
    }).register();
    const sequence = await storage.revocations.latestSequence();
    for (let index = 0; index < 250; index += 1) {
      const grant = aGrant({ id: `${index}`, sequence, expiresAt: now() + 9 * 24 * HOUR });
      await storage.grants.insert(grant, aCode({ id: `${index}`, grantId: `${index}` }));
    }
    await storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, now());
    await other!.revocations.revokeAllOf({ userId: 'bob' });
    const stored = async (name: string): Promise<number> =>
      (await host('gatehouse_ends').where({ reader: name })).length;
    t.deepEqual([await stored('waits'), await stored('is gone')], [251, 250]);

    for (let hour = 0; hour < 72; hour += 1) {
      await t.throwsAsync(reader.read(), { message: 'its tables are away' });
      // A node prunes once in an hour; another one has to leave as much.
      const before = await stored('is gone');
      const removed = await storage.prune(now(), 100);
      t.true(removed <= 100);
      t.true(before - (await stored('is gone')) <= 100);
      if (hour < 48) t.is(await stored('is gone'), 250, `after ${hour} hours it may come back`);
      passTime(HOUR);
    }
    t.deepEqual([await stored('waits'), await stored('is gone')], [251, 0]);
    // What is stored meanwhile is for the one that goes on.
    await other!.revocations.revokeAllOf({ userId: 'carol' });
    isAway = false;
    await reader.read();
    t.deepEqual([read.length, ...read.slice(-2)], [252, 'bob', 'carol']);
    t.is(await stored('waits'), 0);
  },
);
