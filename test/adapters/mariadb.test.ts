// Alone, first: the contract of storages, twice, on a server.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { mariadb } from './databases.ts';
import { hostKnex } from './host-knex.ts';
import { PATIENT, serverContract } from './server-contract.ts';

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
