import { pushedRequests } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { countedKnex } from '../adapters/counted-knex.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { completeFlow, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { pushedUrl } from './push.ts';

// On SQLite, the begin and the commit of transactions count.
const MOST = { pg: 16, mysql2: 16, 'better-sqlite3': 25 } as const;

onEachDatabase(
  'a pushed request sends at most a fixed number of SQL statements, and its code is one on servers',
  async (t, { client }, address) => {
    let seen: string[] = [];
    const host = countedKnex(client, address, (sql) => seen.push(sql));
    t.teardown(async () => host.destroy());
    await using platform = await startPlatform({
      storage: knexStorage(host),
      features: [pushedRequests()],
      tokens: { revocationLag: '1 hour' },
    });
    const app = await platform.registerApp();
    const counted = async <T>(run: () => Promise<T>): Promise<readonly [string[], T]> => {
      await platform.auth.audit.flush();
      seen = [];
      const result = await run();
      return [seen.filter((sql) => !/gatehouse_audit|set last_used_at|@@global.read_only/.test(sql)), result];
    };
    const logIn = async (browser: Browser, person: readonly [string, string]): Promise<number> => {
      const callback = await completeFlow(browser, await pushedUrl(platform, app), ...person);
      return (await exchangeCode(platform, app, callback.searchParams.get('code'))).status;
    };
    await logIn(new Browser(), ['cleo@school.example', 'open sesame']);

    const browser = new Browser();
    const [ofFirst, status] = await counted(async () =>
      logIn(browser, ['ann@school.example', 'correct horse']),
    );
    t.is(status, 200);
    t.true(ofFirst.length <= MOST[client], `a first login with consent and exchange: ${ofFirst.length}`);

    const [ofPush, url] = await counted(async () => pushedUrl(platform, app));
    t.true(ofPush.length <= 3, `a push: ${ofPush.length}`);
    const [ofCode, page] = await counted(async () => browser.get(url));
    t.truthy(page.location?.searchParams.get('code'));
    const spending = ofCode.filter((sql) => /delete from gatehouse_pushed_requests/.test(sql));
    t.is(spending.length, 1);
    if (client === 'pg')
      t.regex(
        spending[0]!,
        /^\s*with[^;]+insert into gatehouse_grants[^;]+insert into gatehouse_credentials[^;]+$/,
      );
  },
);
