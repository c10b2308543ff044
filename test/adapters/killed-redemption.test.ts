import { once } from 'node:events';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken, NOW } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase } from './databases.ts';
import { start } from './processes.ts';

const STATEMENTS = { 'better-sqlite3': 6, pg: 1, mysql2: 6 };

onEachDatabase(
  'a node that is killed between any two statements of a redemption has redeemed or not',
  async (t, { client }, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();

    let kills = 0;
    for (let statement = 1; ; statement += 1) {
      const id = `code ${statement}`;
      const code = aCode({ id, grantId: id });
      await storage.credentials.start(aGrant({ id }), code);
      const child = start('dying-process.ts', client, address, id, `${statement}`);
      const [, signal] = await once(child, 'exit');

      const successor = `successor of ${id}`;
      const found = await storage.credentials.find('refresh_token', successor);
      if (signal === null) {
        t.is(found?.credential.id, successor, 'the one that was not killed');
        break;
      }
      kills += 1;
      t.is(found, undefined, `killed before statement ${statement}`);
      const exchange = { at: NOW, successor: aRefreshToken({ id: successor, grantId: id }) };
      t.deepEqual(await storage.credentials.redeem(code, exchange), { outcome: 'redeemed' });
    }
    t.is(kills, STATEMENTS[client]);
  },
);
