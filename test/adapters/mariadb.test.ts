import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { storageContract } from 'koa-gatehouse/testing';

import { mariadb } from './databases.ts';
import { hostKnex } from './host-knex.ts';

const { register, empty } = mariadb;

storageContract(register, async () => knexStorage(await empty()));

storageContract(
  (title, run) => register(`shared with a host: ${title}`, run),
  async () => {
    const host = hostKnex(
      'mysql2',
      await empty(),
      // With the first of them, a backslash does not keep a quote from ending a text.
      `set session sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES'`,
    );
    return { ...knexStorage(host), close: async () => host.destroy() };
  },
);
