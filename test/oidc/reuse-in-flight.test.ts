import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { connect, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { held } from '../harness/storage.ts';
import { asClient } from './families.ts';

const REFUSED = { error: 'invalid_grant', error_description: 'grant request is invalid' };

async function refresh(platform: Platform, app: RegisteredApp, token: string): Promise<TokenAnswer> {
  return platform.token({ grant_type: 'refresh_token', ...asClient(app), refresh_token: token });
}

/** Families with one token that is spent, its window over, and one that is good. */
async function spentFamilies(
  platform: Platform,
  app: RegisteredApp,
  count: number,
): Promise<{ spent: string; current: string }[]> {
  const browser = new Browser();
  const families = [];
  while (families.length < count) {
    const spent = (await connect(platform, app, { browser })).body.refresh_token;
    families.push({ spent, current: (await refresh(platform, app, spent)).body.refresh_token });
  }
  passTime(61);
  return families;
}

onEachDatabaseInSeries(
  'a token that is used again after its window ends its family, also when its successor is refreshed at that time',
  async (t, _database, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address) });
    const app = await platform.registerApp({ firstParty: true });
    const families = await spentFamilies(platform, app, 10);
    await Promise.all(
      families.map(async ({ spent, current }, index) => {
        const tokens = index % 2 ? [spent, current] : [current, spent];
        const answers = await Promise.all(tokens.map(async (token) => refresh(platform, app, token)));
        if (index % 2) answers.reverse();
        const [refreshed, replayed] = answers as [TokenAnswer, TokenAnswer];
        t.deepEqual(replayed.body, REFUSED);
        t.deepEqual((await refresh(platform, app, current)).body, REFUSED);
        if (refreshed.status !== 200) return;
        const { access_token: access, refresh_token: successor } = refreshed.body;
        t.is((await platform.api('/identity', access)).body['code'], 'token_revoked');
        t.deepEqual((await refresh(platform, app, successor)).body, REFUSED);
      }),
    );
  },
);

// In the worst order: the successor would be saved when its family has been revoked.
onEachDatabaseInSeries(
  'a refresh that has passed every check gives nothing when its family ends in that moment',
  async (t, _database, address) => {
    const { storage, pause } = held(knexStorage(address));
    await using platform = await startPlatform({ storage });
    const app = await platform.registerApp({ firstParty: true });
    const [{ spent, current }] = (await spentFamilies(platform, app, 1)) as [
      { spent: string; current: string },
    ];
    const { reached, resume } = pause('credentials.redeem');
    const refreshing = refresh(platform, app, current);
    await reached;
    t.deepEqual((await refresh(platform, app, spent)).body, REFUSED);
    resume();
    t.deepEqual((await refreshing).body, REFUSED);
    t.deepEqual((await refresh(platform, app, current)).body, REFUSED);
  },
);
