import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { countedKnex } from '../adapters/counted-knex.ts';
import { onEachDatabase, postgresql, sqlite } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import { credentialsOf } from './token-platform.ts';

onEachDatabase(
  'each kind of request sends at most a fixed number of SQL statements',
  async (t, { client }, address) => {
    let seen: string[] = [];
    const host = countedKnex(client, address, (sql) => seen.push(sql));
    t.teardown(async () => host.destroy());
    // Cached entries do not expire during the test.
    await using platform = await startPlatform({
      storage: knexStorage(host),
      tokens: { revocationLag: '1 hour' },
    });
    const app = await platform.registerApp();
    const service = await platform.registerService(['view_schools']);
    const browser = new Browser();

    const asService = { grant_type: 'client_credentials', ...credentialsOf(service) };
    const exchange = async (code: string | null) =>
      platform.token({
        grant_type: 'authorization_code',
        ...credentialsOf(app),
        redirect_uri: app.redirectUri,
        code,
      });
    const refresh = async (refreshToken: string) =>
      platform.token({ grant_type: 'refresh_token', ...credentialsOf(app), refresh_token: refreshToken });

    /** The number of statements for a request, without those for which no request waits: of the audit log and of last uses. */
    async function statementsOf<T>(run: () => Promise<T>): Promise<[number, T]> {
      await platform.auth.audit.flush();
      seen = [];
      const result = await run();
      const own = seen.filter((sql) => !/gatehouse_audit|set last_used_at/.test(sql));
      return [own.length, result];
    }

    // Caches the clients, and records the uses of secrets and of the consent, which happens at most once a minute.
    await platform.token(asService);
    const first = await exchange((await authorize(platform, app, { browser })).get('code'));
    await refresh(first.body.refresh_token);

    // Where PostgreSQL needs one query, SQLite needs a transaction, whose begin and commit count.
    const most =
      client === 'pg' ? { again: 3, exchange: 2, refresh: 2 } : { again: 6, exchange: 6, refresh: 5 };

    const [forService, serviceToken] = await statementsOf(async () => platform.token(asService));
    t.is(forService, 0, 'client credentials');

    const [forAgain, callback] = await statementsOf(async () => {
      const page = await browser.get(authorizeUrl(platform, app));
      return page.location!.searchParams;
    });
    t.true(forAgain <= most.again, `an authorization with a session and a consent: ${forAgain}`);

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
  [sqlite, postgresql],
);
