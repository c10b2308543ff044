import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';

onEachDatabase('authorization requests without a session store no row', async (t, database, address) => {
  await using platform = await startPlatform({ storage: knexStorage(address), retention: { audit: 0 } });
  const app = await platform.registerApp();
  const before = await contentsOf(database, address);
  for (const parameters of [
    {},
    { scope: 'schools:read' },
    { state: 's'.repeat(4000) },
    { prompt: 'login' },
  ]) {
    const browser = new Browser();
    t.is((await browser.open(authorizeUrl(platform, app, parameters))).heading, 'Sign in');
    t.deepEqual(browser.cookies, []);
  }
  t.deepEqual(await contentsOf(database, address), before);
});
