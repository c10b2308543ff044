import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { FoundCredential } from '../../lib/contracts/index.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { around, pausable } from '../harness/storage.ts';
import { exchangeRefreshToken, REFUSED_GRANT } from '../harness/tokens.ts';

/** A storage by whose clock every credential was spent a day earlier than it was. */
function afterGrace(storage: Storage): Storage {
  return around(storage, async (name, call) => {
    const result = await call();
    if (name !== 'grants.findCredential') return result;
    const found = result as FoundCredential | undefined;
    return found?.spentFor === undefined ? found : { ...found, spentFor: found.spentFor + 86_400_000 };
  });
}

/** Families with a used refresh token and an unused one. */
async function usedFamilies(
  platform: Platform,
  app: RegisteredApp,
  count: number,
): Promise<{ used: string; current: string }[]> {
  const browser = new Browser();
  const families = [];
  while (families.length < count) {
    const used = (await runCodeFlow(platform, app, { browser })).body.refresh_token;
    families.push({ used, current: (await exchangeRefreshToken(platform, app, used)).body.refresh_token });
  }
  return families;
}

onEachDatabase(
  'reuse after the grace revokes the family, also during a refresh of the successor',
  async (t, _database, address) => {
    await using platform = await startPlatform({ storage: afterGrace(knexStorage(address)) });
    const app = await platform.registerApp({ firstParty: true });
    const families = await usedFamilies(platform, app, 4);
    await Promise.all(
      families.map(async ({ used, current }, index) => {
        const tokens = index % 2 ? [used, current] : [current, used];
        const answers = await Promise.all(
          tokens.map(async (token) => exchangeRefreshToken(platform, app, token)),
        );
        if (index % 2) answers.reverse();
        const [refreshed, replayed] = answers as [TokenAnswer, TokenAnswer];
        t.deepEqual(replayed.body, REFUSED_GRANT);
        t.deepEqual((await exchangeRefreshToken(platform, app, current)).body, REFUSED_GRANT);
        if (refreshed.status !== 200) return;
        const { access_token: access, refresh_token: successor } = refreshed.body;
        t.is((await platform.api('/identity', access)).body['code'], 'token_revoked');
        t.deepEqual((await exchangeRefreshToken(platform, app, successor)).body, REFUSED_GRANT);
      }),
    );
  },
);

// The successor would be stored after the family is revoked.
onEachDatabase(
  'a refresh gives no tokens when its family is revoked before the successor is stored',
  async (t, _database, address) => {
    const { storage, pause } = pausable(afterGrace(knexStorage(address)));
    await using platform = await startPlatform({ storage });
    const app = await platform.registerApp({ firstParty: true });
    const [{ used, current }] = (await usedFamilies(platform, app, 1)) as [{ used: string; current: string }];
    const { reached, resume } = pause('grants.redeem');
    const refreshing = exchangeRefreshToken(platform, app, current);
    await reached;
    t.deepEqual((await exchangeRefreshToken(platform, app, used)).body, REFUSED_GRANT);
    resume();
    t.deepEqual((await refreshing).body, REFUSED_GRANT);
    t.deepEqual((await exchangeRefreshToken(platform, app, current)).body, REFUSED_GRANT);
  },
);
