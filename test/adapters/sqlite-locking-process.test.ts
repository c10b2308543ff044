import { once } from 'node:events';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken, NOW } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase, sqlite } from './databases.ts';
import { start } from './processes.ts';

onEachDatabase(
  'a file that another process locks for two seconds',
  async (t, _database, address) => {
    const [patient, hasty] = [knexStorage(address), knexStorage(address, { timeout: '300 ms' })];
    t.teardown(async () => {
      await patient.close();
      await hasty.close();
    });
    await patient.migrate();
    await patient.credentials.start(aGrant(), aCode());
    const exchange = { at: NOW, successor: aRefreshToken(), sealedSuccessor: 'sealed' };

    const child = start('locking-process.ts', address);
    t.teardown(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const lockedAt = performance.now();
    const redeeming = patient.credentials.redeem(aCode(), exchange);
    await t.throwsAsync(hasty.credentials.redeem(aCode(), exchange), {
      code: 'ERR_STORAGE',
      message: 'The database stayed locked by another connection for 300 ms. Nothing was changed; try again.',
    });
    t.true(performance.now() - lockedAt < 1500, 'an error as soon as the time is over');
    t.deepEqual((await hasty.credentials.find('code', aCode().id))?.credential, aCode(), 'reading goes on');

    t.deepEqual(await redeeming, { outcome: 'redeemed' });
    t.true(performance.now() - lockedAt > 1500, 'it has waited');
    t.like(await hasty.credentials.redeem(aCode(), exchange), {
      outcome: 'spent',
      sealedSuccessor: 'sealed',
    });
    t.deepEqual(
      (await hasty.grants.find(aGrant().id))?.scopes,
      ['changed'],
      'what the other one did is there',
    );
  },
  [sqlite],
);
