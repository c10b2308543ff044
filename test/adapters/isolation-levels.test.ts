// A host decides how its transactions see each other. Whatever it is, a credential is spent once.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { grantContract } from '../../lib/testing/storage/grants.ts';
import { redemptionContract } from '../../lib/testing/storage/redemption.ts';
import { mariadb, postgresql } from './databases.ts';
import { hostKnex } from './host-knex.ts';

const isolation = 'transaction isolation level';

const RACES = /at once|at the same time|by many|both or neither/;

for (const [{ name, register, empty }, client, setting] of [
  [postgresql, 'pg', `set session characteristics as ${isolation} repeatable read`],
  [postgresql, 'pg', `set session characteristics as ${isolation} serializable`],
  [mariadb, 'mysql2', `set session ${isolation} read uncommitted`],
  [mariadb, 'mysql2', `set session ${isolation} read committed`],
  [mariadb, 'mysql2', `set session ${isolation} serializable`],
  // From MariaDB 11.6 on this is so unless it is told otherwise.
  [mariadb, 'mysql2', `set session innodb_snapshot_isolation = on`],
] as const) {
  for (const contract of [redemptionContract, grantContract]) {
    contract((title, run) => {
      if (!RACES.test(title)) return;
      register(`${name}, ${setting}: ${title}`, async (t) => {
        const host = hostKnex(client, await empty(), setting);
        t.teardown(async () => host.destroy());
        const storage = knexStorage(host);
        await storage.migrate();
        await run(t, storage);
      });
    });
  }
}
