import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { sqlite } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';

test('authorization requests without a session store no row', async (t) => {
  const address = await sqlite.empty();
  await using platform = await startPlatform({ storage: knexStorage(address), retention: { audit: 0 } });
  const app = await platform.registerApp();
  const before = await contentsOf(sqlite, address);
  const requests = [{}, { scope: 'schools:read' }, { state: 's'.repeat(4000) }, { prompt: 'login' }];
  for (const parameters of requests) {
    const browser = new Browser();
    t.is((await browser.open(authorizeUrl(platform, app, parameters))).heading, 'Sign in');
    t.deepEqual(browser.cookies, []);
  }
  t.deepEqual(await contentsOf(sqlite, address), before);
});
