import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { signedIn } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import {
  answer,
  beginOn,
  enter,
  errorOf,
  poll,
  registerDevice,
  requestCode,
  startDevicePlatform,
} from './device.ts';

const ALONE = { app: ({ auth }: { auth: Platform['auth'] }) => auth.callback() };
const BOB = ['bob@school.example', 'battery staple'] as const;

/** A code that nobody has, another one each time. */
function wrongCode(index: number): string {
  const letters = 'BCDFGHJKLMNPQRSTVWXZ';
  return `ZZZZ${[index % 20, (index + 7) % 20, (index * 3) % 20, 0].map((one) => letters[one]).join('')}`;
}

async function guess(platform: Platform, browser: Browser, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < times; index += 1)
    statuses.push((await enter(platform, browser, wrongCode(index))).status);
  return statuses;
}

test.serial('after five wrong codes a user enters no more for fifteen minutes, on both nodes', async (t) => {
  const storage = memoryStorage();
  await using here = await startDevicePlatform({ storage });
  await using there = await startDevicePlatform({ storage, issuer: here.origin, users: here.users });
  const app = await registerDevice(here);
  const ann = await signedIn(here);
  t.deepEqual(await guess(here, ann, 4), [422, 422, 422, 422]);
  t.deepEqual(await guess(there, ann, 2), [422, 429]);
  const { user_code: userCode } = await beginOn(here, app);
  const refused = await enter(here, ann, userCode);
  t.is(refused.status, 429, 'the right one too');
  t.true(Number(refused.response.headers.get('retry-after')) > 800);
  t.regex(refused.text, /Too many wrong codes\. Try again in 15 minutes\./);
  t.is((await enter(here, await signedIn(here, ...BOB), userCode)).status, 200, 'another user');
  passTime(900);
  const { user_code: later } = await beginOn(here, app);
  t.is((await enter(there, ann, later)).status, 200);
});

test.serial('entering codes while that is throttled is recorded once in fifteen minutes', async (t) => {
  await using platform = await startDevicePlatform();
  const ann = await signedIn(platform);
  const recorded = async (type: 'user_code_throttled' | 'user_code_refused'): Promise<number> =>
    (await platform.auth.audit.list({ types: [type] })).length;
  await guess(platform, ann, 15);
  t.deepEqual([await recorded('user_code_throttled'), await recorded('user_code_refused')], [1, 5]);
  passTime(901);
  await guess(platform, ann, 7);
  t.is(await recorded('user_code_throttled'), 2);
});

test('of concurrent wrong codes five are looked for', async (t) => {
  let lookups = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'deviceCodes.findByUserCode') lookups += 1;
    return call();
  });
  await using platform = await startDevicePlatform({ storage });
  const ann = await signedIn(platform);
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => enter(platform, ann, wrongCode(index))),
  );
  t.is(answers.filter(({ status }) => status === 422).length, 5);
  t.is(answers.filter(({ status }) => status === 429).length, 15);
  t.is(lookups, 5);
});

test('right codes, and texts that cannot be codes, are no guesses', async (t) => {
  await using platform = await startDevicePlatform();
  const app = await registerDevice(platform);
  const ann = await signedIn(platform);
  for (let round = 0; round < 6; round += 1) {
    t.is((await enter(platform, ann, `nonsense ${round}`)).status, 422);
    const { user_code: userCode } = await beginOn(platform, app);
    t.is((await answer(platform, ann, userCode)).heading, 'Your device is connected');
  }
});

test('the pages after the first one are throttled too', async (t) => {
  await using platform = await startDevicePlatform();
  const ann = await signedIn(platform);
  const statuses: number[] = [];
  for (const step of ['approve', 'deny', 'approve', 'deny', 'approve', 'deny']) {
    const body = new URLSearchParams({ user: '1', user_code: wrongCode(statuses.length) });
    statuses.push((await ann.post(platform.url(`/oauth/device/${step}`), body)).status);
  }
  t.deepEqual(statuses, [422, 422, 422, 422, 422, 429]);
});

test('an address has a limit for all users together', async (t) => {
  await using platform = await startDevicePlatform({
    features: [devices({ userCodes: { perAddress: 3 } })],
  });
  t.deepEqual(await guess(platform, await signedIn(platform), 2), [422, 422]);
  t.deepEqual(await guess(platform, await signedIn(platform, ...BOB), 2), [422, 429]);
});

test('limits.attempts: false sets no limits', async (t) => {
  await using platform = await startDevicePlatform({ limits: { attempts: false } });
  t.deepEqual(new Set(await guess(platform, await signedIn(platform), 8)), new Set([422]));
});

test('a user who is not signed in guesses nothing: no code is looked for', async (t) => {
  const names: string[] = [];
  const storage = around(memoryStorage(), async (name, call) => {
    names.push(name);
    return call();
  });
  await using platform = await startDevicePlatform({ storage });
  const app = await registerDevice(platform);
  const { user_code: userCode } = await beginOn(platform, app);
  const stranger = new Browser();
  for (const typed of [userCode, wrongCode(1)]) {
    const { location, status } = await enter(platform, stranger, typed);
    t.deepEqual([status, location?.pathname], [303, '/oauth/login']);
  }
  // Nor does a link, such as one of another site.
  await stranger.open(platform.url(`/oauth/device?user_code=${userCode}`));
  await (await signedIn(platform)).open(platform.url(`/oauth/device?user_code=${userCode}`));
  t.false(names.includes('deviceCodes.findByUserCode'));
});

test('a public client that anybody can use begins fifty times from one address in ten minutes', async (t) => {
  await using platform = await startDevicePlatform({ trustProxy: true }, ALONE);
  const app = await registerDevice(platform);
  const begin = async (address: string, of = app): ReturnType<typeof requestCode> =>
    requestCode(platform, of, {}, { 'x-forwarded-for': address });
  for (let index = 0; index < 50; index += 1) t.is((await begin('192.0.2.1')).status, 200);
  const refused = await begin('192.0.2.1');
  t.deepEqual(errorOf(refused), [429, 'temporarily_unavailable']);
  t.regex(
    String(refused.body?.['error_description']),
    /^too many device authorization requests; try again in \d+ seconds$/,
  );
  t.true(Number(refused.headers.get('retry-after')) > 500);
  t.is((await begin('198.51.100.1')).status, 200, 'another address');
  // A client that authenticates makes the requests of all of its devices.
  const television = await registerDevice(platform, { confidential: true });
  t.is((await begin('192.0.2.1', television)).status, 200);
});

test('a confidential client has a limit for all addresses together, and no row is stored over it', async (t) => {
  let rows = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'deviceCodes.insert') rows += 1;
    return call();
  });
  await using platform = await startDevicePlatform(
    { storage, features: [devices({ requests: { perClient: 3 } })], trustProxy: true },
    ALONE,
  );
  const app = await registerDevice(platform, { confidential: true });
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const answered = await requestCode(platform, app, {}, { 'x-forwarded-for': `192.0.${index}.1` });
      return answered.status;
    }),
  );
  t.is(statuses.filter((status) => status === 200).length, 3);
  t.is(rows, 3);
  const publicApp = await registerDevice(platform);
  for (let count = 0; count < 6; count += 1)
    t.is((await requestCode(platform, publicApp)).status, 200, 'a public client has no such limit');
});

test('a poll before the interval has passed writes nothing', async (t) => {
  const names: string[] = [];
  const storage = around(memoryStorage(), async (name, call) => {
    // In the background, events of earlier requests are written and the server's keys are read again.
    if (!/^(audit|keys)\./.test(name)) names.push(name);
    return call();
  });
  await using platform = await startDevicePlatform({ storage });
  const app = await registerDevice(platform);
  const { device_code: code } = await beginOn(platform, app);
  names.length = 0;
  await poll(platform, app, code);
  t.deepEqual(names.splice(0), ['deviceCodes.find', 'deviceCodes.poll']);
  await poll(platform, app, code);
  t.deepEqual(names, ['deviceCodes.find']);
});
