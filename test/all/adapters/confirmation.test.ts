import test from '../../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { confirmationContract } from '../../storage/confirmation.ts';
import type { Knex } from 'knex';

import { sayMissing } from '../../harness/missing.ts';
import { findPrograms } from '../../adapters/scratch-server.ts';
import { POSTGRESQL_KIND, startStandbyPair } from '../../adapters/standby-pair.ts';

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

  test('a transaction of the host whose wait for the standby is cancelled is no success', async (t) => {
    await using pair = await startStandbyPair(programs);
    const storage = knexStorage(pair.host, { listen: false });
    await storage.migrate();
    await pair.host.raw('create table schools (name varchar(255) primary key)');
    await pair.loseStandby();
    const adding = storage.transaction(async (transaction) => {
      await (transaction as Knex.Transaction)('schools').insert({ name: 'Hill' });
    });
    await t.throwsAsync(adding, {
      code: 'ERR_STORAGE',
      message:
        'The database committed a change without its synchronous standby, because the wait for it was cancelled. It is not known whether the change lasts.',
    });
  });
}
