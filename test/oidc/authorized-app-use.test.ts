import { setImmediate as nextTurn } from 'node:timers/promises';

import test from 'ava';
import type { Consent } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createRecordUse } from '../../lib/clients/last-use.ts';
import { passTime } from '../harness/clock.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow, recordingLogger, startPlatform } from '../harness/platform.ts';
import { around, pausable } from '../harness/storage.ts';
import { asClient } from './families.ts';

const HOUR = 3600;
const LAG = 5;
const storage = memoryStorage();
const platform = await startPlatform({ storage, revocationLag: LAG });
test.after.always(() => platform[Symbol.asyncDispose]());

const now = (): number => Math.floor(Date.now() / 1000);

// All set the clock ahead.
test.serial('a token for a user records the use of the authorized app, once an hour', async (t) => {
  const app = await platform.registerApp();
  const { id } = app.client;
  const lastUsedAt = async (): Promise<Consent['lastUsedAt']> =>
    (await storage.consents.find('1', id))?.lastUsedAt;
  const { body } = await runCodeFlow(platform, app);
  t.is(await lastUsedAt(), now());
  const first = now();

  passTime(HOUR - 60);
  const refresh = { grant_type: 'refresh_token', ...asClient(app) };
  const second = await platform.token({ ...refresh, refresh_token: body.refresh_token });
  t.is(await lastUsedAt(), first, 'once an hour');
  passTime(60);
  await platform.token({ ...refresh, refresh_token: second.body.refresh_token });
  t.is(await lastUsedAt(), now());
});

test.serial('a call of the API for a user records the use, also with an old token', async (t) => {
  const app = await platform.registerApp();
  const { id } = app.client;
  const { body } = await runCodeFlow(platform, app);
  passTime(30 * 86_400);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  t.is((await storage.consents.find('1', id))?.lastUsedAt, now());
  const used = now();

  passTime(HOUR);
  await platform.auth.revoke({ token: body.access_token });
  t.is((await platform.api('/identity', body.access_token)).status, 401);
  t.is((await storage.consents.find('1', id))?.lastUsedAt, used, 'a refused call is not recorded');
});

test.serial('a consent to more scopes does not change the time of the last use', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  await runCodeFlow(platform, app, { browser });
  const used = (await storage.consents.find('1', app.client.id))?.lastUsedAt;
  passTime(10);
  await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const consent = await storage.consents.find('1', app.client.id);
  t.deepEqual(consent?.scopes, ['', 'schools:read']);
  t.is(consent?.lastUsedAt, used);
});

test.serial('client credentials record no use of an authorized app', async (t) => {
  const calls: string[] = [];
  const watched = around(memoryStorage(), async (name, call) => {
    calls.push(name);
    return call();
  });
  await using own = await startPlatform({ storage: watched });
  const service = await own.registerService();
  const { body } = await own.token({ grant_type: 'client_credentials', ...asClient(service) });
  await own.api('/identity', body.access_token);
  t.false(calls.includes('consents.touch'));
});

test.serial('requests do not wait for the record, and do not fail when it fails', async (t) => {
  const { storage: slow, pause } = pausable(memoryStorage());
  await using own = await startPlatform({ storage: slow });
  const app = await own.registerApp();
  const { reached, resume } = pause('consents.touch');
  t.is((await runCodeFlow(own, app)).status, 200);
  await reached;
  resume();

  const failing = around(memoryStorage(), async (name, call) => {
    if (name === 'consents.touch') throw new Error('unreachable');
    return call();
  });
  await using other = await startPlatform({ storage: failing });
  t.is((await runCodeFlow(other, await other.registerApp())).status, 200);
  const line = other.logger.lines.find(({ level }) => level === 'warn');
  t.is(line?.message, 'recording the last use of an authorized app failed');
});

test.serial('at most four writes are in progress, and further uses wait in a bounded queue', async (t) => {
  const touched: string[] = [];
  const waiting: (() => void)[] = [];
  const touch = async (userId: string): Promise<void> => {
    touched.push(userId);
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  };
  const recordUse = createRecordUse({ touch }, recordingLogger());
  for (let user = 0; user < 100; user += 1) recordUse(String(user), 'app');
  t.deepEqual(touched, ['0', '1', '2', '3']);

  for (let user = 4; user < 10_010; user += 1) {
    for (const end of waiting.splice(0)) end();
    await nextTurn();
    recordUse(String(user), 'app');
  }
  t.true(touched.length > 5000, String(touched.length));
});
