// A client that a feature has stored which no server knows any more, such as one that was uninstalled.
import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';

test('a client of a source that no feature has gets nothing', async (t) => {
  const storage = memoryStorage();
  await using platform = await startPlatform({ storage });
  const app = await platform.registerApp({ name: 'Agent' });
  const { body } = await runCodeFlow(platform, app);
  t.is((await platform.api('/schools', body.access_token)).status, 200);

  const { client } = (await storage.clients.find(app.client.id))!;
  t.true(await storage.clients.update({ ...client, source: 'uninstalled' }));
  await using other = await startPlatform({ storage, issuer: platform.origin, users: platform.users });
  t.is((await other.api('/schools', body.access_token)).status, 401);
  const refreshed = await exchangeRefreshToken(other, app, body.refresh_token);
  t.deepEqual([refreshed.status, refreshed.body.error], [401, 'invalid_client']);
  const sent = await other.token({
    grant_type: 'refresh_token',
    client_id: client.id,
    client_secret: app.secret,
  });
  t.is(sent.body.error, 'invalid_client');
  const page = await new Browser(other.reach).open(
    authorizeUrl(other, app).href.replace(platform.origin, other.origin),
  );
  t.is(page.status, 400);
  t.regex(page.text, /invalid_client/);
});
