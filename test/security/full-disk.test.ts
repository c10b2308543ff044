import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { openHost, SOLE } from '../adapters/host-knex.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { asClient } from '../harness/tokens.ts';

test('with a full disk requests that write get 503, and no stored data is lost', async (t) => {
  const knex = openHost(t, 'better-sqlite3', `sqlite:${temporaryFile()}`, SOLE);
  await using platform = await startPlatform({ storage: knexStorage(knex) });
  const app = await platform.registerApp();
  const service = await platform.registerService();
  const asApp = asClient(app);
  const asService = asClient(service);
  const { body: before } = await runCodeFlow(platform, app);
  const refreshed = { ...asApp, grant_type: 'refresh_token', refresh_token: before.refresh_token };
  const browser = new Browser();
  const form = await browser.open(authorizeUrl(platform, app));

  // The error of SQLite at this limit is that of a full disk: SQLITE_FULL.
  const pages = await knex.raw<{ page_count: number }[]>('PRAGMA page_count');
  await knex.raw(`PRAGMA max_page_count = ${pages[0]!.page_count}`);
  let answer = await platform.token(refreshed);
  for (let tries = 0; answer.status === 200 && tries < 500; tries += 1) {
    refreshed.refresh_token = answer.body.refresh_token;
    answer = await platform.token(refreshed);
  }
  t.is(answer.status, 503);
  t.is(answer.body.error, 'temporarily_unavailable');
  t.is(answer.headers.get('retry-after'), '1');
  t.is((await signIn(browser, form)).status, 503);
  t.is((await browser.open(authorizeUrl(platform, app))).status, 503);
  t.is((await platform.token({ ...asService, grant_type: 'client_credentials' })).status, 200);
  t.is((await platform.api('/identity', before.access_token)).status, 200);
  t.deepEqual(await platform.auth.ready(), { ready: true, warnings: ['disk_full'] });
  t.true(
    platform.logger.lines.some(
      ({ message }) => message === 'changes fail because the disk of the database is full',
    ),
  );
  t.is((await knex.raw<{ integrity_check: string }[]>('PRAGMA integrity_check'))[0]?.integrity_check, 'ok');

  await knex.raw('PRAGMA max_page_count = 1000000');
  t.is((await platform.token(refreshed)).status, 200, 'the token of the request with 503 still works');
  t.truthy((await authorize(platform, app, { browser })).get('code'));
});
