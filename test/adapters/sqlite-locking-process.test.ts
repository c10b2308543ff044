import { once } from 'node:events';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase, sqlite } from './databases.ts';
import { start } from './processes.ts';

onEachDatabase(
  'calls wait while another process locks the file, and reject after their timeout',
  async (t, _database, address) => {
    const [longTimeout, shortTimeout] = [knexStorage(address), knexStorage(address, { timeout: '300 ms' })];
    t.teardown(async () => {
      await longTimeout.close();
      await shortTimeout.close();
    });
    await longTimeout.migrate();
    await longTimeout.grants.insert(aGrant(), aCode());
    const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };

    const child = start('locking-process.ts', address);
    t.teardown(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    let isRedeemed = false;
    const redeeming = longTimeout.grants.redeem(aCode(), exchange).finally(() => {
      isRedeemed = true;
    });
    await t.throwsAsync(shortTimeout.grants.redeem(aCode(), exchange), {
      code: 'ERR_STORAGE',
      message: 'The database stayed locked by another connection for 300 ms. Nothing was changed; try again.',
    });
    t.deepEqual(
      (await shortTimeout.grants.findCredential('code', aCode().id))?.credential,
      aCode(),
      'reads work',
    );

    t.false(isRedeemed, 'it waits');
    child.send('commit');
    t.deepEqual(await redeeming, { outcome: 'redeemed' });
    t.like(await shortTimeout.grants.redeem(aCode(), exchange), {
      outcome: 'spent',
      sealedSuccessor: 'sealed',
    });
    t.deepEqual(
      (await shortTimeout.grants.find(aGrant().id))?.scopes,
      ['changed'],
      'the changes of the other process are visible',
    );
  },
  [sqlite],
);
