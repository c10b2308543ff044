import { randomBytes } from 'node:crypto';

import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { completeFlow, signedIn } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { push, pushedUrl, startPushPlatform } from './push.ts';

onEachDatabase('odd values are kept as they are, or refused', async (t, _database, address) => {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  await storage.migrate();
  await using platform = await startPushPlatform({}, { storage });
  const app = await platform.registerApp();
  const browser = await signedIn(platform);
  for (const state of [
    '\u0000',
    '💥',
    "'; drop table x; --",
    ' ',
    '%00',
    '\ud800',
    'a&b=c',
    '<script>',
    '\r\nx: y',
  ]) {
    const { location } = { location: await completeFlow(browser, await pushedUrl(platform, app, { state })) };
    t.is(location.searchParams.get('state'), state.toWellFormed(), JSON.stringify(state));
  }
  const more = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`x${index}`, '1']));
  t.true([201, 400].includes((await push(platform, app, more)).status));
  t.is((await push(platform, app, { ['__proto__']: 'x', constructor: 'y' })).status, 201);
  const twice = `client_id=${app.client.id}&client_secret=${app.secret}&response_type=code&redirect_uri=${encodeURIComponent(app.redirectUri)}&scope=a&scope=b`;
  t.is((await postForm(platform.url('/oauth/par'), twice)).status, 400);
  const before = process.cpuUsage();
  const many = Array.from({ length: 20_000 }, (_, index) => `${index}`)
    .join('&')
    .slice(0, 55_000);
  t.true((await postForm(platform.url('/oauth/par'), many)).status < 500);
  // Not the time, which depends on what else the machine does.
  t.true(process.cpuUsage(before).user < 2_000_000);
});

test('what is not too long when it is pushed is not too long for the pages', async (t) => {
  const scopes = Object.fromEntries(
    Array.from({ length: 12 }, (_, i) => [
      `scope${i}:read`,
      { description: `Scope ${i}`, permissions: ['view_schools'] as const, optional: true },
    ]),
  );
  await using platform = await startPushPlatform({ requests: false }, { scopes });
  const app = await platform.registerApp({
    confidential: false,
    redirectUris: ['com.example.app:/callback'],
    native: true,
  });
  const scope = Object.keys(scopes).join(' ');
  const { parameters } = pkce();
  const random = randomBytes(8000).toString('base64url');
  let [low, high] = [0, 8000];
  let url: URL | undefined;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const state = random.slice(0, middle);
    // The one that was accepted is used: the length of another one may differ by its id.
    const pushed = await pushedUrl(platform, app, { scope, ...parameters, state }).catch(() => undefined);
    url = pushed ?? url;
    if (pushed) low = middle;
    else high = middle;
  }
  t.true(low > 4000);
  const state = random.slice(0, low);
  const callback = await completeFlow(new Browser(), url!);
  t.true(callback.searchParams.has('code'));
  t.is(callback.searchParams.get('state'), state);
});
