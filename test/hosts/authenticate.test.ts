import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { BOTH_SCOPES, signIn, startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';
import { GUARDED_ROUTE, HOSTS } from './hosts.ts';

test('options that are wrong are named', async (t) => {
  await using platform = await startPlatform();
  const { auth } = platform;
  const request = { headers: {}, rawHeaders: [], url: '/', method: 'GET', socket: {} } as never;
  for (const [options, message] of [
    [
      { permissions: ['view_school'] },
      /^authenticate\({ permissions: \['view_school'\] }\): the gate has no such permission;/,
    ],
    [{ scopes: [] }, /^authenticate\({ scopes }\): there is no such option/],
    [{ resource: 'https://none.example' }, /the server has no such API/],
  ] as const)
    await t.throwsAsync(auth.authenticate(request, options as never), { code: 'ERR_CONFIG', message });
});

test('a user store that fails is the error of the caller; a database that cannot be reached is a problem', async (t) => {
  let failure: Error | undefined;
  await using platform = await startPlatform({}, { app: HOSTS['node:http']! });
  const { auth, users } = platform;
  const find = users.find.bind(users);
  users.find = async (id) => {
    if (failure) throw failure;
    return find(id);
  };
  const browser = new Browser();
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  const session = {
    headers: { cookie: browser.cookieField, 'sec-fetch-site': 'same-origin' },
    rawHeaders: [],
    url: '/',
    method: 'GET',
    socket: {},
    connection: {},
  };
  failure = new Error('of the user store');
  await t.throwsAsync(auth.authenticate(session as never, { session: true }), {
    message: 'of the user store',
  });
  failure = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  const { problem } = await auth.authenticate(session as never, { session: true });
  t.is(problem?.status, 503);
  t.like(JSON.parse(problem?.body ?? ''), { code: 'temporarily_unavailable' });
  t.is(problem?.headers['Retry-After'], '5');
});

test('a token whose scopes exclude the permission gets the challenge of requires()', async (t) => {
  await using platform = await startPlatform(
    {
      scopes: BOTH_SCOPES,
    },
    { app: HOSTS['node:http']! },
  );
  const { client } = await platform.registerApp();
  const token = await platform.auth.issueToken({
    clientId: client.id,
    userId: '1',
    scopes: ['schools:write'],
  });
  const { status, headers, text } = await send(platform.url(GUARDED_ROUTE), {
    headers: { authorization: `Bearer ${token}` },
  });
  t.is(status, 403);
  t.like(JSON.parse(text), { code: 'insufficient_scope', permission: 'view_schools' });
  t.regex(headers.get('www-authenticate') ?? '', /^Bearer .*error="insufficient_scope"/);
});

test('its requests are counted, and refused while the server closes, as those of guard()', async (t) => {
  await using platform = await startPlatform({}, { app: HOSTS['node:http']! });
  const outcomes: unknown[] = [];
  platform.auth.observe({ guarded: ({ admitted, ...outcome }) => void outcomes.push([admitted, outcome]) });
  const authorization = `Bearer ${await clientToken(platform, await platform.registerService())}`;
  const ask = async (): ReturnType<typeof send> =>
    send(platform.url(GUARDED_ROUTE), { headers: { authorization } });
  t.is((await ask()).status, 403);
  t.is((await ask()).status, 403);
  t.like(outcomes, [
    [true, { remembered: false, credential: 'access_token' }],
    [false, { code: 'missing_permission' }],
    [true, { remembered: true, credential: 'access_token' }],
    [false, { code: 'missing_permission' }],
  ]);
  await platform.auth.close();
  const refused = await ask();
  t.is(refused.status, 503);
  t.is(refused.headers.get('retry-after'), '1');
});
