// Long: it starts a PostgreSQL server with a standby.
import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { confirmationContract } from 'koa-gatehouse/testing';

import { sayMissing } from './databases.ts';
import { findPrograms } from './scratch-server.ts';
import { POSTGRESQL_KIND, startStandbyPair } from './standby-pair.ts';

const programs = findPrograms(POSTGRESQL_KIND);

if (programs === undefined) {
  sayMissing(`there is no ${POSTGRESQL_KIND.program}: install PostgreSQL as Debian packages it`);
} else {
  confirmationContract(test, async () => {
    const pair = await startStandbyPair(programs);
    const storage = knexStorage(pair.host, { listen: false });
    return {
      storage: { ...storage, close: async () => pair[Symbol.asyncDispose]() },
      loseConfirmation: pair.loseStandby,
      restoreConfirmation: pair.bringStandbyBack,
    };
  });
}
