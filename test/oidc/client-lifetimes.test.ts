import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import { createAdministration } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { TokenAnswer } from '../harness/platform.ts';
import { exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import type { ClientLifetimes } from '../../lib/contracts/clients.ts';
import { ClientInvalidError } from '../../lib/errors.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

const OWN = { accessToken: '15 minutes', refreshToken: '1 day', refreshTokenAbsolute: '2 days' } as const;

/** The lifetime of a token, in seconds. */
function lifetimeOf(token: string): number {
  const { exp, iat } = decodeJwt(token);
  return exp! - iat!;
}

function lifetimesIn({ body, status }: TokenAnswer): readonly number[] {
  return [status, body.expires_in, lifetimeOf(body.access_token)];
}

test('lifetimes of a client hold for each grant type', async (t) => {
  await using platform = await startPlatform();
  const { clients } = platform.auth;
  const app = await platform.registerApp({ lifetimes: OWN, firstParty: true });
  t.deepEqual(app.client.lifetimes, { accessToken: 900, refreshToken: DAY, refreshTokenAbsolute: 2 * DAY });
  t.deepEqual((await clients.find(app.client.id))?.lifetimes, app.client.lifetimes);
  const service = await platform.registerService();
  const { id } = service.client;
  t.deepEqual(lifetimesIn(await requestClientToken(platform, service)), [200, 365 * DAY, 365 * DAY]);
  await clients.update(id, { lifetimes: { accessToken: 600 } });
  t.deepEqual(lifetimesIn(await requestClientToken(platform, service)), [200, 600, 600], 'for new tokens');
  await clients.update(id, { name: 'Renamed' });
  t.deepEqual(lifetimesIn(await requestClientToken(platform, service)), [200, 600, 600]);
  await clients.update(id, { lifetimes: {} });
  t.deepEqual(lifetimesIn(await requestClientToken(platform, service)), [200, 365 * DAY, 365 * DAY]);

  const first = await runCodeFlow(platform, app);
  t.deepEqual(lifetimesIn(first), [200, 900, 900]);
  const second = await exchangeRefreshToken(platform, app, first.body.refresh_token);
  t.deepEqual(lifetimesIn(second), [200, 900, 900]);
  await clients.update(app.client.id, { lifetimes: { accessToken: '5 minutes' } });
  t.deepEqual(
    lifetimesIn(await exchangeRefreshToken(platform, app, second.body.refresh_token)),
    [200, 300, 300],
  );
  const records = await platform.auth.audit.list({ clientId: app.client.id, types: ['client_updated'] });
  like(t, records[0], { fields: ['lifetimes'] });
});

test.serial('refreshToken and refreshTokenAbsolute of a client end refresh tokens and grants', async (t) => {
  await using platform = await startPlatform({});
  const app = await platform.registerApp({ lifetimes: OWN, firstParty: true });
  const unused = await runCodeFlow(platform, app);
  let { body } = await runCodeFlow(platform, app);
  for (let time = 1; time <= 3; time += 1) {
    passTime(15 * HOUR);
    const next = await exchangeRefreshToken(platform, app, body.refresh_token);
    t.is(next.status, 200, `time ${time}`);
    ({ body } = next);
  }
  const tooLate = await exchangeRefreshToken(platform, app, unused.body.refresh_token);
  t.deepEqual([tooLate.status, tooLate.body.error], [400, 'invalid_grant'], 'unused for a day');
  passTime(4 * HOUR);
  const ended = await exchangeRefreshToken(platform, app, body.refresh_token);
  t.deepEqual([ended.status, ended.body.error], [400, 'invalid_grant'], 'two days after the consent');
});

test('when a lifetime of the server is lowered, the shorter one holds, and the client can be updated', async (t) => {
  const storage = memoryStorage();
  await using before = await startPlatform({ storage });
  const app = await before.registerApp({ lifetimes: OWN, firstParty: true });
  await using after = await startPlatform({ storage, tokens: { lifetimes: { accessToken: '10 minutes' } } });
  t.deepEqual(lifetimesIn(await runCodeFlow(after, app)), [200, 600, 600]);
  const renamed = await after.auth.clients.update(app.client.id, { name: 'Renamed' });
  t.deepEqual(renamed.lifetimes, app.client.lifetimes);
  await t.throwsAsync(after.auth.clients.update(app.client.id, { lifetimes: { accessToken: '14 min' } }), {
    code: 'ERR_CLIENT_INVALID',
    message: "lifetimes.accessToken: at most 600 s, which is the server's own: a client can only shorten it",
  });
});

test('invalid lifetimes are refused, with the field and the maximum', async (t) => {
  await using platform = await startPlatform({ tokens: { lifetimes: 'short' } });
  const { clients } = platform.auth;
  const fields = {
    name: 'App',
    grantType: 'authorization_code',
    redirectUris: ['https://app.example/'],
  } as const;
  for (const [lifetimes, field, code, message] of [
    [
      { accessToken: '61 min' },
      '.accessToken',
      'lifetime_too_long',
      /^at most 3600 s, which is the server's/,
    ],
    [{ refreshToken: '31 days' }, '.refreshToken', 'lifetime_too_long', /^at most 2592000 s/],
    [
      { refreshTokenAbsolute: '2 years' },
      '.refreshTokenAbsolute',
      'lifetime_too_long',
      /^at most 31536000 s/,
    ],
    [{ accessToken: 0 }, '.accessToken', 'lifetime_too_short', /^give at least 1 s$/],
    [{ accessToken: 'soon' }, '.accessToken', 'not_duration', /^give seconds, or a number and a unit/],
    [{ session: '1 hour' }, '.session', 'unknown_lifetime', /^there is no such lifetime; give accessToken, /],
    [[900], '', 'lifetimes_form', /^give an object such as \{ accessToken: '15 minutes' \}$/],
  ] as [ClientLifetimes, string, string, RegExp][]) {
    const error = await t.throwsAsync(clients.create({ ...fields, lifetimes }), {
      instanceOf: ClientInvalidError,
    });
    t.like(error.fields[0], { field: `lifetimes${field}`, code });
    t.regex(error.fields[0]!.message, message);
  }
  const service = { name: 'Job', grantType: 'client_credentials', lifetimes: { refreshToken: 60 } } as const;
  await t.throwsAsync(clients.create(service), {
    message: 'lifetimes.refreshToken: for authorization code clients only',
  });
});

test('createAdministration() checks lifetimes if it is given those of the servers', async (t) => {
  const storage = memoryStorage();
  const fields = {
    name: 'Job',
    grantType: 'client_credentials',
    lifetimes: { accessToken: '1 day' },
  } as const;
  const { client } = await createAdministration({ storage }).clients.create(fields);
  t.deepEqual(client.lifetimes, { accessToken: DAY });
  const strict = createAdministration({ storage, tokens: { lifetimes: 'short' } });
  await t.throwsAsync(strict.clients.create(fields), { message: /^lifetimes\.accessToken: at most 3600 s/ });
  await t.throwsAsync(strict.importClient({ ...fields, id: 'job' }), { message: /at most 3600 s/ });
  t.is(await createAdministration({ storage }).importClient({ ...fields, id: 'job' }), 'imported');
  await using platform = await startPlatform({ storage });
  t.deepEqual((await platform.auth.clients.find('job'))?.lifetimes, { accessToken: DAY });
});

test('auth.issueToken() observes the lifetimes of the client', async (t) => {
  await using platform = await startPlatform({});
  const { auth } = platform;
  const app = await platform.registerApp({ lifetimes: OWN });
  const options = { clientId: app.client.id, userId: '1' };
  t.is(lifetimeOf(await auth.issueToken(options)), 900);
  t.is(lifetimeOf(await auth.issueToken({ ...options, lifetime: '1 minute' })), 60);
  await t.throwsAsync(auth.issueToken({ ...options, lifetime: 901 }), {
    code: 'ERR_CONFIG',
    message: `issueToken({ lifetime }): at most the lifetimes.accessToken of the client ${app.client.id}, which is 900 s`,
  });
});
