import test from '../harness/test.ts';
import { pushedRequests } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { mariadb, onEachDatabase, postgresql } from '../adapters/databases.ts';
import { openHost, SOLE } from '../adapters/host-knex.ts';
import { Browser } from '../harness/browser.ts';
import { passTime, resetClock } from '../harness/clock.ts';
import { signIn, startPlatform } from '../harness/platform.ts';
import { pushedUrl, startPushPlatform } from './push.ts';

test.serial('it begins within its lifetime, and the login may take longer', async (t) => {
  t.teardown(resetClock);
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const late = await pushedUrl(platform, app);
  const inTime = await pushedUrl(platform, app);
  const browser = new Browser();
  passTime(55);
  const login = await browser.open(inTime);
  t.is(login.heading, 'Sign in');
  passTime(10);
  const page = await new Browser().open(late);
  t.is(page.status, 400);
  passTime(300);
  const consent = await signIn(browser, login);
  passTime(300);
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.true(location!.searchParams.has('code'));
});

const statusOf = async (url: URL): Promise<number> => (await new Browser().open(url)).status;

// The clock of the database is that of this machine; those of the nodes differ. An SQLite file has no other clock.
for (const ahead of [90, -90])
  onEachDatabase(
    `the database says for how long: a node whose clock is ${ahead} s ahead pushes, and takes what another one has pushed`,
    async (t, { client }, address) => {
      t.teardown(resetClock);
      const features = [pushedRequests()];
      await using here = await startPlatform({ storage: knexStorage(address), features });
      const app = await here.registerApp();
      const pushed = await pushedUrl(here, app);
      passTime(ahead);
      t.is(await statusOf(pushed), 200);
      const other = await pushedUrl(here, app);
      passTime(-ahead);
      t.is(await statusOf(other), 200);
      const database = openHost(t, client, address, SOLE);
      await database('gatehouse_pushed_requests').decrement('expires_at', 60);
      passTime(ahead);
      for (const url of [pushed, other]) t.is(await statusOf(url), 400);
    },
    [postgresql, mariadb],
  );
