import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { postgresql } from './databases.ts';
import { hostKnex } from './host-knex.ts';
import { serverContract } from './server-contract.ts';

serverContract(postgresql, (address) => knexStorage(address));

serverContract(
  postgresql,
  (address) => {
    const host = hostKnex('pg', address, 'set standard_conforming_strings = off');
    return { ...knexStorage(host), close: async () => host.destroy() };
  },
  'shared with a host: ',
);
