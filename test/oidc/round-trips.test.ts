import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { countedKnex } from '../adapters/counted-knex.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import { asClient, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';

// Where the others need one statement, SQLite needs a transaction, whose begin and commit count.
const MOST: {
  readonly [C in TestDatabase['client']]: Readonly<
    Record<'login' | 'authorization' | 'exchange' | 'refresh', number>
  >;
} = {
  pg: { login: 11, authorization: 2, exchange: 2, refresh: 2 },
  mysql2: { login: 11, authorization: 2, exchange: 2, refresh: 2 },
  'better-sqlite3': { login: 18, authorization: 5, exchange: 6, refresh: 5 },
};

onEachDatabase(
  'each kind of request sends at most a fixed number of SQL statements',
  async (t, { client }, address) => {
    let seen: string[] = [];
    const host = countedKnex(client, address, (sql) => seen.push(sql));
    t.teardown(async () => host.destroy());
    let from = '192.0.2.1';
    // Cached entries do not expire during the test.
    await using platform = await startPlatform(
      { storage: knexStorage(host), tokens: { revocationLag: '1 hour' } },
      {
        before: [
          async (ctx, next) => {
            ctx.request.ip = from;
            await next();
          },
        ],
      },
    );
    const app = await platform.registerApp();
    const service = await platform.registerService(['view_schools']);
    const most = MOST[client];

    const asService = { grant_type: 'client_credentials', ...asClient(service) };
    const exchange = async (code: string | null) => exchangeCode(platform, app, code);
    const refresh = async (refreshToken: string) => exchangeRefreshToken(platform, app, refreshToken);

    /**
     * The number of statements for a request, without those for which no request waits: of the audit log and of last uses. And without
     * the one that each new connection sends to MariaDB, which is opened when others are in use.
     */
    async function statementsOf<T>(run: () => Promise<T>): Promise<[number, T]> {
      await platform.auth.audit.flush();
      seen = [];
      const result = await run();
      const own = seen.filter((sql) => !/gatehouse_audit|set last_used_at|@@global.read_only/.test(sql));
      return [own.length, result];
    }

    // Caches the clients, and records the uses of secrets and of the consent, which happens at most once a minute.
    await platform.token(asService);
    const cleo = { person: 'cleo@school.example', password: 'open sesame' };
    const browser = new Browser();
    const first = await exchange((await authorize(platform, app, { browser, ...cleo })).get('code'));
    await refresh(first.body.refresh_token);

    const [forService, serviceToken] = await statementsOf(async () => platform.token(asService));
    t.is(forService, 0, 'client credentials');

    // An IPv6 address belongs to one network more than an IPv4 address, and attempts are counted for each.
    for (const [login, ip] of [
      [{ person: 'ann@school.example', password: 'correct horse' }, '192.0.2.7'],
      [{ person: 'bob@school.example', password: 'battery staple' }, '2001:db8::7'],
    ] as const) {
      from = ip;
      const [forLogin, answer] = await statementsOf(async () =>
        exchange((await authorize(platform, app, login)).get('code')),
      );
      t.is(answer.status, 200);
      t.true(forLogin <= most.login, `a first login from ${ip}, with consent and exchange: ${forLogin}`);
    }

    const [forAuthorization, callback] = await statementsOf(async () => {
      const page = await browser.get(authorizeUrl(platform, app));
      return page.location!.searchParams;
    });
    t.true(
      forAuthorization <= most.authorization,
      `an authorization with a session and a consent: ${forAuthorization}`,
    );

    const [forExchange, tokens] = await statementsOf(async () => exchange(callback.get('code')));
    t.is(tokens.status, 200);
    t.true(forExchange <= most.exchange, `a code: ${forExchange}`);

    const [forRefresh, refreshed] = await statementsOf(async () => refresh(tokens.body.refresh_token));
    t.is(refreshed.status, 200);
    t.true(forRefresh <= most.refresh, `a refresh token: ${forRefresh}`);

    for (const token of [serviceToken.body.access_token, refreshed.body.access_token]) {
      const [cold, answer] = await statementsOf(async () => platform.api('/schools', token));
      t.is(answer.status, 200);
      t.true(cold <= 2, `a token that is not cached: ${cold}`);
      const [warm] = await statementsOf(async () => platform.api('/schools', token));
      t.is(warm, 0, 'a cached token');
    }
  },
);
