import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { gatehouse, migrated } from '../cli/gatehouse.ts';
import { NOW } from '../storage/rows.ts';
import { allowedGrantsOf, beginning } from './store-contract.ts';

test('gatehouse allow-app lets an app act for a user again, after somebody has ended it', async (t) => {
  const url = await migrated();
  const storage = knexStorage(url);
  t.teardown(async () => storage.close());
  const store = await allowedGrantsOf(storage);
  const allow = async (): Promise<Awaited<ReturnType<typeof gatehouse>>> =>
    gatehouse('allow-app ann timetable', { DATABASE_URL: url });
  t.true(await store.begin(...beginning('a')));
  const { code, output } = await allow();
  t.deepEqual([code, output], [1, 'Nobody has ended what an issuer allowed the app for the user.\n']);
  await storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW);
  t.like(await allow(), {
    code: 0,
    output: 'The app can act for the user again, when the issuer allows it.\n',
  });
  t.is(await store.find('Id'), undefined);
  const events = await storage.audit.list({ types: ['app_allowed_again'], limit: 2 });
  t.deepEqual(
    events.map((event) => 'userId' in event && event.userId),
    ['ann'],
  );
});
