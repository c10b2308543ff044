import test from '../harness/test.ts';

import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { runCodeFlow, signIn, signOut } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { until } from '../harness/until.ts';
import { REPORTS } from '../developer/area.ts';
import { openDeveloperPlatform, passwordOf } from '../developer/developers.ts';
import type { DeveloperPlatform } from '../developer/developers.ts';
import { OPENID } from './options.ts';
import { logoutsOf } from './logouts-of.ts';
import { startPublicApps } from './told-apps.ts';

/** Signs Ann in at the apps, out, and in again. */
async function signInAndOut(platform: DeveloperPlatform, apps: readonly RegisteredApp[]): Promise<Browser> {
  const browser = await platform.signInAs('ann');
  for (const app of apps) await runCodeFlow(platform, app, { browser, parameters: { scope: 'openid' } });
  await signOut(platform, browser);
  const { email, password } = passwordOf('ann');
  await signIn(browser, await browser.open(platform.url('/oauth/login')), email, password);
  return browser;
}

test('users see which apps were told of their logout, and developers see it of their app', async (t) => {
  const storage = memoryStorage();
  // Each answers with the status in its path.
  await using apps = await startPublicApps((path, response) =>
    response.writeHead(Number(path.slice(1))).end(),
  );
  const platform = await openDeveloperPlatform(t, { openid: OPENID, storage }, ON_LOOPBACK);
  const register = async (status: number): Promise<RegisteredApp> =>
    platform.registerFor('dora', {
      ...REPORTS,
      name: `App ${status}`,
      backchannelLogoutUri: `${apps.origin}/${status}`,
    });
  const [fine, broken] = [await register(200), await register(500)];
  const ann = await signInAndOut(platform, [fine, broken]);
  const list = async (): Promise<Page> => ann.open(platform.url('/account/apps'));
  let page = await list();
  await until(async () => {
    page = await list();
    return page.text.includes('Told of') && page.text.includes('Not told yet of');
  });
  const at = String.raw`\w+ \d+, \d{4}, \d\d:\d\d UTC`;
  t.regex(page.text, new RegExp(`App 200 .* Told of your logout on ${at} \\.`));
  t.regex(
    page.text,
    new RegExp(`App 500 .* Not told yet of your logout of ${at} : it answered with the status 500 \\.`),
  );
  const dora = await platform.signInAs('dora');
  const ofApp = async ({ client }: RegisteredApp): Promise<string> =>
    (await dora.open(platform.url(`/developer/apps/${client.id}`))).text;
  t.regex(await ofApp(fine), new RegExp(`Last logout The app was told on ${at}`));
  t.regex(
    await ofApp(broken),
    new RegExp(`was not told yet of that of ${at}: it answered with the status 500`),
  );

  // Of a day in which it is told again, this is the end.
  const { createdAt, dueAt, id } = (await logoutsOf(storage).findLatest(broken.client.id))!;
  const times = { now: dueAt!, leasedUntil: dueAt! + 15 };
  await logoutsOf(storage).finish(await logoutsOf(storage).take('last', [id], times), {
    answeredAt: createdAt,
    dueAt: undefined,
    error: 'timeout',
  });
  t.regex(
    (await list()).text,
    new RegExp(`App 500 .* Could not be told of your logout of ${at} : it did not answer in time`),
  );
  t.regex(await ofApp(broken), new RegExp(`could not be told of that of ${at}: it did not answer in time`));
  // Another developer does not.
  const emil = await platform.signInAs('emil');
  t.is((await emil.open(platform.url(`/developer/apps/${broken.client.id}`))).status, 404);
});
