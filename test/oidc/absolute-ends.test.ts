import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';

const DAY = 86_400;
const YEAR = 365 * DAY;

test.serial('a session that is used again and again ends 90 days after the login', async (t) => {
  await using platform = await startPlatform();
  const app = await platform.registerApp({ firstParty: true });
  const browser = new Browser();
  await authorize(platform, app, { browser });
  for (let day = 10; day < 90; day += 10) {
    passTime(10 * DAY);
    const page = await browser.get(authorizeUrl(platform, app));
    t.true(page.location?.searchParams.has('code'), `day ${day}`);
  }
  passTime(10 * DAY + 15);
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
});

for (const { lifetimes, every, times } of [
  { lifetimes: 'long', every: YEAR / 2, times: 9 },
  { lifetimes: 'short', every: 20 * DAY, times: 18 },
] as const) {
  test.serial(`a family of refresh tokens has an absolute end, preset ${lifetimes}`, async (t) => {
    await using platform = await startPlatform({ tokens: { lifetimes } });
    const app = await platform.registerApp({ firstParty: true });
    let { body } = await runCodeFlow(platform, app);
    const refresh = async () => exchangeRefreshToken(platform, app, body.refresh_token);
    for (let time = 1; time <= times; time += 1) {
      passTime(every);
      const next = await refresh();
      t.is(next.status, 200, `time ${time}`);
      ({ body } = next);
    }
    passTime(every);
    const { status, body: refused } = await refresh();
    t.deepEqual([status, refused.error], [400, 'invalid_grant']);
    // The last access token has its full lifetime.
    t.is((await platform.api('/identity', body.access_token)).status, lifetimes === 'short' ? 401 : 200);
  });
}
