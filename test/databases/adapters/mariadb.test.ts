import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { attemptContract } from '../../storage/attempts.ts';
import { deviceCodeContract } from '../../devices/store-contract.ts';
import { grantContract } from '../../storage/grants.ts';
import { redemptionContract } from '../../storage/redemption.ts';
import { mariadb } from '../../adapters/databases.ts';
import { hostKnex } from '../../adapters/host-knex.ts';
import { PATIENT, serverContract } from '../../adapters/server-contract.ts';
import { watchedKnex } from '../../adapters/watched-knex.ts';

serverContract(mariadb, (address) => knexStorage(address, PATIENT));

serverContract(
  mariadb,
  (address) => {
    const host = hostKnex(
      'mysql2',
      // Without FOUND_ROWS, an UPDATE that changes no value counts no row.
      `${address}?flags=-FOUND_ROWS`,
      // With NO_BACKSLASH_ESCAPES, a backslash does not escape a quote.
      `set session sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES'`,
    );
    return { ...knexStorage(host, PATIENT), close: async () => host.destroy() };
  },
  'shared with a host: ',
);

// As MySQL, which has no compound statements, and as Vitess, which does not say who it is.
for (const contract of [attemptContract, deviceCodeContract, grantContract, redemptionContract]) {
  contract((title, run) => {
    mariadb.register(`one statement after the other: ${title}`, async (t) => {
      const host = watchedKnex('mysql2', await mariadb.cleared(), (sql) => {
        if (sql.includes('@@'))
          throw Object.assign(new Error('unknown'), { code: 'ER_UNKNOWN_SYSTEM_VARIABLE' });
        if (sql.startsWith('begin not atomic')) throw new Error('a syntax error');
      });
      t.teardown(async () => host.destroy());
      const storage = knexStorage(host, PATIENT);
      await storage.migrate();
      await run(t, storage);
    });
  });
}
