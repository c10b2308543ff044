import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { sayMissing } from '../../harness/missing.ts';
import { PATIENT } from '../../adapters/server-contract.ts';
import { startGaleraCluster, whatIsMissing } from '../../../bench/trials/galera-cluster.ts';
import {
  deleteDuringNewSecret,
  disconnectDuringAuthorization,
  endSessionDuringSignIn,
  migrateAtOnce,
  readWhatWasWritten,
  registerAtOnce,
  removeDuringConsent,
} from '../../../bench/trials/galera-races.ts';
import type { Finding } from '../../../bench/trials/report.ts';

const missing = whatIsMissing();

if (missing !== undefined) {
  sayMissing(`there is no Galera cluster: ${missing}`);
} else {
  const starting = startGaleraCluster(3);
  test.before('start a cluster', async (t) => {
    t.timeout(120_000);
    await starting;
  });
  test.after.always('end it', async () => (await starting)[Symbol.asyncDispose]());

  test.serial('Galera: nodes on different members migrate at once', async (t) => {
    t.timeout(120_000);
    kept(t, await migrateAtOnce(await starting, 2));
  });

  test.serial('Galera: what is done on two members at once is done as if on one', async (t) => {
    t.timeout(120_000);
    const addresses = await (await starting).createDatabase('gatehouse');
    const storages = addresses.map((address): Storage => knexStorage(address, PATIENT));
    t.teardown(async () => Promise.all(storages.map(async (storage) => storage.close())));
    await storages[0]!.migrate();
    kept(t, await readWhatWasWritten(storages, 100));
    kept(t, await disconnectDuringAuthorization(storages, 100));
    kept(t, await endSessionDuringSignIn(storages, 100));
    kept(t, await deleteDuringNewSecret(storages, 100));
    kept(t, await registerAtOnce(storages, 20));
    kept(t, await removeDuringConsent(storages, 50));
  });
}

function kept(t: ExecutionContext, { what, broken }: Finding): void {
  t.deepEqual(broken, [], what);
}
