import { once } from 'node:events';

import { aCode, aGrant, aRefreshToken } from '../../storage/rows.ts';
import { onEachDatabase } from '../../adapters/databases.ts';
import { openStorage } from '../../adapters/host-knex.ts';
import { start } from '../../adapters/processes.ts';

// On MariaDB a new connection first asks for its server.
const STATEMENTS = { 'better-sqlite3': 5, pg: 1, mysql2: 2 };

onEachDatabase(
  'a node killed between any two statements of a redemption has redeemed the code or not',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address);

    let kills = 0;
    for (let statement = 1; ; statement += 1) {
      const id = `code ${statement}`;
      const code = aCode({ id, grantId: id });
      await storage.grants.insert(aGrant({ id }), code);
      const child = start('dying-process.ts', client, address, id, `${statement}`);
      const [, signal] = await once(child, 'exit');

      const successor = `successor of ${id}`;
      const found = await storage.grants.findCredential('refresh_token', successor);
      if (signal === null) {
        t.is(found?.credential.id, successor, 'the code was redeemed once');
        break;
      }
      kills += 1;
      t.is(found, undefined, `killed before statement ${statement}`);
      const exchange = { successor: aRefreshToken({ id: successor, grantId: id }) };
      t.deepEqual(await storage.grants.redeem(code, exchange), { outcome: 'redeemed' });
    }
    t.is(kills, STATEMENTS[client]);
  },
);
