// At REPEATABLE READ, InnoDB reads rows as of the transaction's first read. A decision on who redeemed a credential must not
// read such rows.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { createDatabase } from '../../../lib/database/create-database.ts';
import { knexDatabase } from '../../../adapters/knex/knex-database.ts';
import { aCode, aGrant } from '../../storage/rows.ts';
import { mariadb } from '../../adapters/databases.ts';
import { hostKnex } from '../../adapters/host-knex.ts';

const READ = 'select consumed_at from gatehouse_credentials';

for (const [setting, runs] of [
  ['set session transaction isolation level repeatable read', 1],
  // Then updating a row that another transaction has changed is an error.
  ['set session innodb_snapshot_isolation = on', 2],
] as const) {
  mariadb.register(`MariaDB, ${setting}: an update reads the current row, not the snapshot`, async (t) => {
    const host = hostKnex('mysql2', await mariadb.empty(), setting);
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host);
    await storage.migrate();
    await storage.grants.insert(aGrant(), aCode());
    const database = createDatabase(knexDatabase(host, { shared: true }), 5000);

    let run = 0;
    const seen = await database.transaction(async (statements) => {
      run += 1;
      const before = await statements.get(READ);
      await storage.grants.redeem(aCode(), {});
      const after = await statements.get(READ);
      const changed = await statements.run(
        'update gatehouse_credentials set consumed_at = 1 where consumed_at is null',
      );
      return { before, after, changed, locked: await statements.get(`${READ} for update`) };
    });

    t.is(run, runs);
    const spent = await storage.grants.findCredential('code', aCode().id);
    const current = { consumed_at: spent!.credential.consumedAt };
    t.truthy(current.consumed_at);
    const old = runs === 1 ? { consumed_at: null } : current;
    t.deepEqual(seen, { before: old, after: old, changed: 0, locked: current });
  });
}
