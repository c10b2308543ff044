import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { postgresql } from '../../adapters/databases.ts';
import { hostKnex } from '../../adapters/host-knex.ts';
import { PATIENT, serverContract } from '../../adapters/server-contract.ts';

serverContract(postgresql, (address) => knexStorage(address, PATIENT));

serverContract(
  postgresql,
  (address) => {
    const host = hostKnex('pg', address, 'set standard_conforming_strings = off');
    return { ...knexStorage(host, PATIENT), close: async () => host.destroy() };
  },
  'shared with a host: ',
);
