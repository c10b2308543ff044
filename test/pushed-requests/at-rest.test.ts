import { pushedRequests } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { pushedUrl, startPushPlatform } from './push.ts';

onEachDatabase('no reference, secret or code is stored, logged or recorded', async (t, database, address) => {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  await storage.migrate();
  await using platform = await startPushPlatform({}, { storage, features: [pushedRequests()] });
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app);
  const reference = url.searchParams.get('request_uri')!.split(':').at(-1)!;
  const browser = new Browser();
  await browser.open(url);
  await new Browser().open(
    await pushedUrl(platform, app, {}, { request_uri: `${url.searchParams.get('request_uri')!}x` }),
  );
  const stored = JSON.stringify([...(await contentsOf(database, address))]);
  t.true(stored.includes('https://reports.example/callback'));
  const all = stored + JSON.stringify(platform.logger.lines);
  for (const secret of [reference, app.secret]) t.false(all.includes(secret));
});
