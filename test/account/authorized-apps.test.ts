import test from 'ava';
import { decodeJwt } from 'jose';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { authorizeUrl, runCodeFlow } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { around, pausable } from '../harness/storage.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';
import { REPORTS } from './area.ts';
import { requestFrom, openDeveloperPlatform, userOf } from './developers.ts';
import type { DeveloperPlatform, Member } from './developers.ts';

/** Completes the authorization code flow of an app for a user. */
async function authorizeAs(
  platform: DeveloperPlatform,
  member: Member,
  app: RegisteredApp,
  scope = '',
): Promise<{ access_token: string; refresh_token: string }> {
  const browser = await platform.signInAs(member);
  return (await runCodeFlow(platform, app, { browser, parameters: { scope } })).body;
}

async function works(platform: DeveloperPlatform, token: string): Promise<boolean> {
  return (await platform.api('/identity', token)).status === 200;
}

test('the list has the scopes of each app and the time of the consent', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const apps = [
    await platform.registerFor('dora', REPORTS),
    await platform.registerFor('dora', { ...REPORTS, name: 'Gone' }),
    await platform.registerFor('dora', { ...REPORTS, name: 'Off' }),
  ] as const;
  await authorizeAs(platform, 'ann', apps[0], 'schools:read');
  await authorizeAs(platform, 'ann', apps[1]);
  await authorizeAs(platform, 'ann', apps[2]);
  await platform.auth.clients.delete(apps[1].client.id);
  await platform.auth.clients.disable(apps[2].client.id);

  const list = await platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann')).list();
  const described = list.map(({ client, scopes }) => [client.name, { scopes, disabled: client.disabled }]);
  t.deepEqual(Object.fromEntries(described), {
    Reports: {
      disabled: false,
      scopes: [{ name: 'schools:read', description: 'See your schools', aboutUser: false }],
    },
    Off: { disabled: true, scopes: [] },
  });
  const now = Date.now() / 1000;
  t.true(list.every(({ createdAt }) => createdAt <= now && createdAt > now - 60));
  t.deepEqual(await platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('dora')).list(), []);
});

test('a scope that is no longer defined is listed by its name', async (t) => {
  const storage = memoryStorage();
  const platform = await openDeveloperPlatform(t, { storage });
  const app = await platform.registerFor('dora', REPORTS);
  await storage.consents.add({
    userId: 'ann',
    clientId: app.client.id,
    scopes: ['schools:write'],
    hosts: {},
    createdAt: 1,
    updatedAt: 1,
    lastUsedAt: 3600,
  });
  const [authorizedApp] = await platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann')).list();
  t.deepEqual(authorizedApp?.scopes, [
    { name: 'schools:write', description: 'schools:write', aboutUser: false },
  ]);
  t.like(authorizedApp, { createdAt: 1, lastUsedAt: 3600 });
});

test('disconnecting revokes the tokens of the app for this user only', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const [reports, other] = [
    await platform.registerFor('dora', REPORTS),
    await platform.registerFor('dora', { ...REPORTS, name: 'Other' }),
  ];
  const [phone, desk, elsewhere, theirs] = [
    await authorizeAs(platform, 'ann', reports),
    await authorizeAs(platform, 'ann', reports, 'schools:read'),
    await authorizeAs(platform, 'ann', other),
    await authorizeAs(platform, 'emil', reports),
  ];
  for (const { access_token } of [phone, desk, elsewhere, theirs])
    t.true(await works(platform, access_token));

  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
  t.true(await anns.disconnect(reports.client.id));
  t.false(await works(platform, phone.access_token));
  t.false(await works(platform, desk.access_token));
  t.true(await works(platform, elsewhere.access_token));
  t.true(await works(platform, theirs.access_token));
  const refreshed = await exchangeRefreshToken(platform, reports, desk.refresh_token);
  t.is(refreshed.body.error, 'invalid_grant');
  t.deepEqual(
    (await anns.list()).map(({ client }) => client.name),
    ['Other'],
  );

  const records = await platform.auth.audit.list({
    clientId: reports.client.id,
    types: ['consent_withdrawn'],
  });
  t.is(records.length, 1);
  t.like(records[0], {
    userId: 'ann',
    actorId: 'ann',
    address: '192.0.2.1',
    scopes: [],
  });
});

test('a connection that ends while another node refreshes it stays ended, and the others stay', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const platform = await openDeveloperPlatform(t, { storage });
  const reports = await platform.registerFor('dora', REPORTS);
  const [phone, desk] = [
    await authorizeAs(platform, 'ann', reports),
    await authorizeAs(platform, 'ann', reports),
  ];
  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
  const refresh = async ({ refresh_token }: typeof phone): ReturnType<typeof platform.token> =>
    exchangeRefreshToken(platform, reports, refresh_token);
  const id = decodeJwt(phone.access_token)['grant_id'] as string;
  const { reached, resume } = pause('grants.redeem');
  const late = refresh(phone);
  await reached;
  t.true(await anns.endConnection(reports.client.id, id));
  t.false(await anns.endConnection(reports.client.id, id));
  resume();
  t.is((await late).body.error, 'invalid_grant');
  t.false(await works(platform, phone.access_token));
  t.true(await works(platform, desk.access_token));
  t.is((await refresh(desk)).status, 200);
  t.deepEqual(
    (await anns.list()).map(({ connections }) => connections.length),
    [1],
  );

  // Neither of another user nor of another app.
  const other = decodeJwt(desk.access_token)['grant_id'] as string;
  const emils = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('emil'));
  t.false(await emils.endConnection(reports.client.id, other));
  t.false(await anns.endConnection('another', other));
  t.true(await works(platform, desk.access_token));
});

test('after disconnecting consent is asked for again', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const reports = await platform.registerFor('dora', REPORTS);
  await authorizeAs(platform, 'ann', reports);
  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
  await anns.disconnect(reports.client.id);
  t.is((await platform.auth.audit.list({ types: ['consent_given'] })).length, 1);
  const { access_token } = await authorizeAs(platform, 'ann', reports);
  t.is((await platform.auth.audit.list({ types: ['consent_given'] })).length, 2);
  t.true(await works(platform, access_token));
});

test('disconnecting an unknown id returns false', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
  for (const id of ['f8d2a9d4-3f2c-4a52-9d2f-0d5f0e3b8f10', '', '\0', 'x'.repeat(10_000), '__proto__']) {
    t.false(await anns.disconnect(id));
  }
  t.deepEqual(await platform.auth.audit.list({ types: ['consent_withdrawn'] }), []);
});

test('an authorization that has read the consent asks again when the app is disconnected before the code', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const platform = await openDeveloperPlatform(t, { storage });
  const reports = await platform.registerFor('dora', REPORTS);
  const browser = await platform.signInAs('ann');
  await runCodeFlow(platform, reports, { browser });
  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));

  const { reached, resume } = pause('grants.insert');
  const answer = browser.get(authorizeUrl(platform, reports));
  await reached;
  t.true(await anns.disconnect(reports.client.id));
  resume();
  const { location } = await answer;
  t.is(location?.href, authorizeUrl(platform, reports).href);
  t.is((await browser.open(location!)).heading, `Authorize ${reports.client.name}`);
  t.deepEqual(await storage.grants.revoke({ userId: 'ann', clientId: reports.client.id }, 0), []);
  t.deepEqual(await platform.auth.audit.list({ types: ['authorization_refused'] }), []);
});

test('ten concurrent calls disconnect once, with one audit event', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const reports = await platform.registerFor('dora', REPORTS);
  const { access_token } = await authorizeAs(platform, 'ann', reports);
  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
  await Promise.all(Array.from({ length: 10 }, async () => anns.disconnect(reports.client.id)));
  t.false(await works(platform, access_token));
  t.is((await platform.auth.audit.list({ types: ['consent_withdrawn'] })).length, 1);
});

test('when disconnecting fails half-way the tokens are revoked, and the app is still listed', async (t) => {
  let broken = true;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'consents.delete' && broken) throw new Error('the database is unreachable');
    return call();
  });
  const platform = await openDeveloperPlatform(t, { storage });
  const reports = await platform.registerFor('dora', REPORTS);
  const { access_token } = await authorizeAs(platform, 'ann', reports);
  const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
  await t.throwsAsync(anns.disconnect(reports.client.id), { message: 'the database is unreachable' });
  t.false(await works(platform, access_token));
  t.is((await anns.list()).length, 1);
  broken = false;
  t.true(await anns.disconnect(reports.client.id));
  t.deepEqual(await anns.list(), []);
});

for (const moment of ['consents.delete', 'grants.revoke'] as const) {
  test(`the tokens of an authorization that ends before ${moment} are revoked`, async (t) => {
    const { storage, pause } = pausable(memoryStorage());
    const platform = await openDeveloperPlatform(t, { storage });
    const reports = await platform.registerFor('dora', REPORTS);
    await authorizeAs(platform, 'ann', reports);
    const anns = platform.flow.authorizedApps(requestFrom('192.0.2.1'), userOf('ann'));
    const { reached, resume } = pause(moment);
    const disconnected = anns.disconnect(reports.client.id);
    await reached;
    const { access_token } = await authorizeAs(platform, 'ann', reports);
    t.true(await works(platform, access_token));
    resume();
    t.true(await disconnected);
    t.false(await works(platform, access_token));
    t.deepEqual(await anns.list(), []);
  });
}
