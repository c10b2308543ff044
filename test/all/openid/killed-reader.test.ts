import { passTime, resetClock } from '../../harness/clock.ts';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { Browser } from '../../harness/browser.ts';
import { runCodeFlow, signOut, startPlatform } from '../../harness/platform.ts';
import { ON_LOOPBACK } from '../../harness/public-server.ts';
import { until } from '../../harness/until.ts';
import { startProcess } from '../../oidc/nodes.ts';
import { OPENID } from '../../openid/options.ts';
import { startPublicApps } from '../../openid/told-apps.ts';

// After the longest lease, in seconds.
const LEASED = 61;

// From the transaction of the end on: what has to be told is in a row at each of them.
for (const [after, what] of [
  ['sessions.end', 'ended the session'],
  ['ends.take', 'taken the ends'],
  ['logouts.add', 'made deliveries of them'],
  ['logouts.take', 'taken the deliveries'],
] as const)
  onEachDatabaseInSeries(
    `of a node that is killed when it has ${what}, another one tells each app, once`,
    async (t, _database, address) => {
      t.teardown(resetClock);
      await using apps = await startPublicApps();
      const browser = new Browser((url) => new URL(url.pathname + url.search, origin));
      const platform = await startPlatform({ openid: OPENID, storage: knexStorage(address) }, ON_LOOPBACK);
      let { origin } = platform;
      for (const name of ['one', 'two']) {
        const app = await platform.registerApp({ name, backchannelLogoutUri: `${apps.origin}/${name}` });
        await runCodeFlow(platform, app, { browser, parameters: { scope: 'openid' } });
      }
      // No other node is there until the first one is gone.
      await platform[Symbol.asyncDispose]();

      const { issuer } = platform.auth;
      await using killed = startProcess();
      ({ origin } = await killed.open({ address, issuer, openid: true, kill: { after } }));
      await signOut(platform, browser).catch(() => undefined);
      t.is(await killed.end, 'SIGKILL');
      t.is(apps.received.length, 0);

      passTime(LEASED);
      await using _next = await startPlatform(
        { issuer, openid: OPENID, storage: knexStorage(address) },
        ON_LOOPBACK,
      );
      await until(() => apps.received.length === 2);
      t.deepEqual(apps.received.map(({ path }) => path).toSorted(), ['/one', '/two']);
    },
  );
