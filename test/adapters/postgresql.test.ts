import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { storageContract } from 'koa-gatehouse/testing';

import { postgresql } from './databases.ts';
import { hostKnex } from './host-knex.ts';

const { register, empty } = postgresql;

storageContract(register, async () => knexStorage(await empty()));

storageContract(
  (title, run) => register(`shared with a host: ${title}`, run),
  async () => {
    const host = hostKnex('pg', await empty(), 'set standard_conforming_strings = off');
    return { ...knexStorage(host), close: async () => host.destroy() };
  },
);
