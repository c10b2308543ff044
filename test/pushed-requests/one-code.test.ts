import test from '../harness/test.ts';
import { pushedRequests } from 'koa-gatehouse';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { clusterOn } from '../harness/cluster.ts';
import { completeFlow, hasCode, signIn, signOut, signedIn } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { pushedUrl, startPushPlatform } from './push.ts';

/** Presents a request six times at once to the nodes of a server, with one login session. Resolves to the number of codes. */
async function presentAtOnce(...nodes: readonly Platform[]): Promise<number> {
  const [here] = nodes as [Platform];
  const app = await here.registerApp();
  const browser = await signedIn(here);
  await completeFlow(browser, await pushedUrl(here, app));
  const url = await pushedUrl(here, app);
  const pages = await Promise.all(
    Array.from({ length: 6 }, async (_, index) =>
      new Browser(nodes[index % nodes.length]!.reach, browser.cookies).open(url),
    ),
  );
  return pages.filter(hasCode).length;
}

onEachDatabase('six presentations at once to two nodes get one code', async (t, _database, address) => {
  const cluster = clusterOn(t, address);
  const options = { features: [pushedRequests()], migrate: true };
  const [here, there] = [await cluster.start(options), await cluster.start(options)];
  for (const _round of [1, 2, 3]) t.is(await presentAtOnce(here, there), 1);
});

test('memory: six presentations at once get one code', async (t) => {
  await using platform = await startPushPlatform();
  t.is(await presentAtOnce(platform), 1);
});

test('two tabs: one code', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app);
  const browser = new Browser();
  const [first, second] = [await browser.open(url), await browser.open(url)];
  const consent = await signIn(browser, first);
  t.true(hasCode(await browser.follow(await browser.submit(consent, 'Authorize'))));
  const other = await signIn(browser, second);
  t.false(hasCode(other));
  t.is(other.status, 400);
  t.is((await browser.open(url)).heading, 'This request was answered or has expired');
});

test('a logout wins against a presentation under way, which spends nothing', async (t) => {
  const { pause, storage } = pausable((await import('koa-gatehouse/adapters/memory')).memoryStorage());
  await using platform = await startPushPlatform({}, { storage });
  const app = await platform.registerApp();
  const browser = await signedIn(platform);
  await completeFlow(browser, await pushedUrl(platform, app));
  const url = await pushedUrl(platform, app);
  const { reached, resume } = pause('grants.insert');
  const presenting = browser.open(url);
  await reached;
  await signOut(platform, browser);
  resume();
  const page = await presenting;
  t.false(hasCode(page));
  t.is(page.heading, 'Sign in');
  t.true(hasCode({ location: await completeFlow(browser, url) } as never));
});
