import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';

onEachDatabase(
  'events of many refused authorization requests do not displace failed logins',
  async (t, _database, address) => {
    const storage = knexStorage(address);
    const platform = await startPlatform({ storage });
    t.teardown(async () => {
      await platform[Symbol.asyncDispose]();
      await storage.close();
    });
    const url = platform.url('/oauth/authorize?client_id=made-up&response_type=code');
    for (let round = 0; round < 15; round += 1) {
      const flood = await Promise.all(Array.from({ length: 100 }, async () => send(url)));
      t.true(flood.every(({ status }) => status === 400));
    }
    for (let index = 0; index < 20; index += 1) {
      const fields = { login: `user${index}@school.example`, password: 'x' };
      t.is((await postForm(platform.url('/oauth/login'), fields)).status, 422);
    }
    t.is((await platform.auth.audit.list({ types: ['login_failed'], limit: 100 })).length, 20);
  },
);

onEachDatabase(
  'one consent page that is refused again and again writes ten rows',
  async (t, _database, address) => {
    const storage = knexStorage(address);
    const platform = await startPlatform({ storage });
    t.teardown(async () => {
      await platform[Symbol.asyncDispose]();
      await storage.close();
    });
    const [app, other] = [await platform.registerApp(), await platform.registerApp()];
    const browser = new Browser();
    const page = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
    for (let count = 0; count < 30; count += 1) {
      const { location } = await browser.submit(page, 'Deny');
      t.is(location?.searchParams.get('error'), 'access_denied');
    }
    await browser.submit(await browser.open(authorizeUrl(platform, other)), 'Deny');
    const denied = async ({ client }: typeof app): Promise<number> =>
      (await platform.auth.audit.list({ types: ['consent_denied'], clientId: client.id })).length;
    t.deepEqual([await denied(app), await denied(other)], [10, 1]);
  },
);
