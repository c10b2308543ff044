import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { passTime, resetClock, stopClock } from '../harness/clock.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';

const HOUR = 3600;

onEachDatabaseInSeries(
  'prune() preserves grants and revocations until access tokens expire that outlive refresh tokens',
  async (t, _database, address) => {
    const lifetimes = { accessToken: '1 day', refreshToken: '1 minute', authorizationCode: 10 } as const;
    await using platform = await startPlatform({ storage: knexStorage(address), tokens: { lifetimes } });
    const [app, other] = [await platform.registerApp(), await platform.registerApp({ name: 'Other' })];
    const refreshed = await runCodeFlow(platform, app);
    const { status, body: successor } = await exchangeRefreshToken(
      platform,
      app,
      refreshed.body.refresh_token,
    );
    t.is(status, 200);
    const revoked = await runCodeFlow(platform, other);
    await platform.auth.revoke({ token: revoked.body.refresh_token });

    passTime(3 * HOUR);
    t.true((await platform.auth.prune()) > 0);
    // A new node has only the state of the database.
    await using fresh = await startPlatform({
      storage: knexStorage(address),
      tokens: { lifetimes },
      issuer: platform.origin,
    });
    for (const node of [platform, fresh]) {
      for (const token of [refreshed.body.access_token, successor.access_token]) {
        t.is((await node.api('/identity', token)).status, 200);
      }
      const { status: refused, body } = await node.api('/identity', revoked.body.access_token);
      t.deepEqual([refused, body['code']], [401, 'token_revoked']);
    }

    // A revocation after the refresh tokens were pruned holds until the access tokens expire.
    await platform.auth.revoke({ userId: '1' });
    passTime(3 * HOUR);
    await platform.auth.prune();
    for (const token of [refreshed.body.access_token, successor.access_token]) {
      t.is((await fresh.api('/identity', token)).body['code'], 'token_revoked');
    }
  },
);

onEachDatabaseInSeries(
  'a retry at the end of the grace gets an access token whose grant is kept as long',
  async (t, _database, address) => {
    using _stopped = stopClock();
    t.teardown(resetClock);
    // A grant is kept until a full hour.
    passTime(HOUR - ((Date.now() / 1000) % HOUR));
    const lifetimes = { accessToken: '1 day', refreshToken: '1 minute', authorizationCode: 10 } as const;
    await using platform = await startPlatform({ storage: knexStorage(address), tokens: { lifetimes } });
    const app = await platform.registerApp();
    const { body } = await runCodeFlow(platform, app);
    await exchangeRefreshToken(platform, app, body.refresh_token);
    passTime(59);
    const retry = await exchangeRefreshToken(platform, app, body.refresh_token);
    t.is(retry.status, 200);
    passTime(24 * HOUR - 30);
    await platform.auth.prune();
    t.is((await platform.api('/identity', retry.body.access_token)).status, 200);
    passTime(30);
    t.is((await platform.api('/identity', retry.body.access_token)).body['code'], 'token_invalid');
  },
);
