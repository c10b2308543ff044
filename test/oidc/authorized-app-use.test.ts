import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { Consent } from '../../lib/contracts/index.ts';
import { passTime } from '../harness/clock.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const HOUR = 3600;
const LAG = 5;
const storage = memoryStorage();
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage, tokens: { revocationLag: LAG } }));
  return { platform };
});

const now = (): number => Math.floor(Date.now() / 1000);

// All set the clock ahead.
test.serial('a token for a user records the use of the authorized app, once an hour', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const { id } = app.client;
  const lastUsedAt = async (): Promise<Consent['lastUsedAt']> =>
    (await storage.consents.find('1', id))?.lastUsedAt;
  const before = now();
  const { body } = await runCodeFlow(platform, app);
  await until(async () => (await lastUsedAt()) !== undefined);
  const first = (await lastUsedAt())!;
  t.true(first >= before && first <= now());

  passTime(HOUR - 60);
  const second = await exchangeRefreshToken(platform, app, body.refresh_token);
  passTime(60);
  const hour = now();
  await exchangeRefreshToken(platform, app, second.body.refresh_token);
  await until(async () => (await lastUsedAt()) !== first);
  t.true((await lastUsedAt())! >= hour, 'once an hour');
});

test.serial('a call of the API for a user records the use, also with an old token', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const { id } = app.client;
  const { body } = await runCodeFlow(platform, app);
  passTime(30 * 86_400);
  const called = now();
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  const lastUsedAt = async (): Promise<number> => (await storage.consents.find('1', id))?.lastUsedAt ?? 0;
  await until(async () => (await lastUsedAt()) >= called);
  const used = await lastUsedAt();

  passTime(HOUR);
  await platform.auth.revoke({ token: body.access_token });
  t.is((await platform.api('/identity', body.access_token)).status, 401);
  // Uses are written in their order, so the one of another app comes after that of a refused call.
  const other = await platform.registerApp();
  await runCodeFlow(platform, other);
  await until(async () => (await storage.consents.find('1', other.client.id))?.lastUsedAt !== undefined);
  t.is(await lastUsedAt(), used, 'a refused call is not recorded');
});

test.serial('a consent to more scopes does not change the time of the last use', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await runCodeFlow(platform, app, { browser });
  await until(async () => (await storage.consents.find('1', app.client.id))?.lastUsedAt !== undefined);
  const used = (await storage.consents.find('1', app.client.id))?.lastUsedAt;
  passTime(10);
  await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const consent = await storage.consents.find('1', app.client.id);
  t.deepEqual(consent?.scopes, ['', 'schools:read']);
  t.is(consent?.lastUsedAt, used);
});

test.serial('requests do not wait for the record', async (t) => {
  const { storage: slow, pause } = pausable(memoryStorage());
  await using own = await startPlatform({ storage: slow });
  const app = await own.registerApp();
  const { reached, resume } = pause('consents.touch');
  t.is((await runCodeFlow(own, app)).status, 200);
  await reached;
  resume();
});
