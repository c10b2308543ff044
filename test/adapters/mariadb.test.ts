import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { mariadb } from './databases.ts';
import { hostKnex } from './host-knex.ts';
import { serverContract } from './server-contract.ts';

serverContract(mariadb, (address) => knexStorage(address));

serverContract(
  mariadb,
  (address) => {
    const host = hostKnex(
      'mysql2',
      // An update that changes nothing counts no row then.
      `${address}?flags=-FOUND_ROWS`,
      // With the first of them, a backslash does not keep a quote from ending a text.
      `set session sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES'`,
    );
    return { ...knexStorage(host), close: async () => host.destroy() };
  },
  'shared with a host: ',
);
