// Alone, first: the contract of storages, twice, on a server.
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { postgresql } from './databases.ts';
import { hostKnex } from './host-knex.ts';
import { PATIENT, serverContract } from './server-contract.ts';

serverContract(postgresql, (address) => knexStorage(address, PATIENT));

serverContract(
  postgresql,
  (address) => {
    const host = hostKnex('pg', address, 'set standard_conforming_strings = off');
    return { ...knexStorage(host, PATIENT), close: async () => host.destroy() };
  },
  'shared with a host: ',
);

// The statements for CockroachDB, run on PostgreSQL: those that differ. Its migrations are run once, before the nodes start.
serverContract(
  {
    ...postgresql,
    register(title, run) {
      const differs =
        /migrate|credential|redeem|code|grant/.test(title) && !title.includes('three times at once');
      if (differs) postgresql.register(title, run);
    },
  },
  (address) => {
    const host = knex({ client: 'cockroachdb', connection: address, log: { warn() {} } });
    return { ...knexStorage(host, PATIENT), close: async () => host.destroy() };
  },
  'with the statements for CockroachDB: ',
);
