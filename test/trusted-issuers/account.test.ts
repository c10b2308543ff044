import test from '../harness/test.ts';
import { createAdministration, trustedIssuers } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime, resetClock } from '../harness/clock.ts';
import { disconnect, runCodeFlow, signedIn } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { idJag, issuerKeys, lastReason, present, REFUSED, startTrusted } from './identity-provider.ts';

test.afterEach.always(resetClock);

const ENDED = 'the user, or the host, has ended what the issuer allowed';

test('users see what their organization allows and end it, and the host allows it again', async (t) => {
  await using platform = await startTrusted();
  const { trustedIssuers: issuers, userGrants } = platform.auth;
  const app = await platform.registerApp();
  const { body } = await present(platform, app, await idJag(platform, app));
  const browser = await signedIn(platform);
  const page = await browser.open(platform.url('/account/apps'));
  t.regex(page.text, /Reports .*Allowed by your organization: idp\.district\.example .*See your schools/);
  const [listed] = (await userGrants.list('1')).clients;
  t.deepEqual(listed!.allowedBy, ['idp.district.example']);
  t.deepEqual(
    listed!.scopes!.map(({ name }) => name),
    ['schools:read'],
  );
  t.is(listed!.grants.length, 1);
  t.deepEqual((await userGrants.list('2')).clients, []);

  await disconnect(browser, page);
  t.is((await platform.api('/schools', body.access_token)).status, 401);
  t.false((await browser.open(platform.url('/account/apps'))).text.includes('Reports'));
  t.like((await present(platform, app, await idJag(platform, app))).body, REFUSED);
  t.is(await lastReason(platform), ENDED);
  const [withdrawn] = await platform.auth.audit.list({ types: ['consent_withdrawn'] });
  t.like(withdrawn, { userId: '1', actorId: '1', clientId: app.client.id, scopes: [] });

  const clientId = app.client.id;
  t.false(await issuers.allow({ userId: '2', clientId }));
  t.true(await issuers.allow({ userId: '1', clientId }));
  t.false(await issuers.allow({ userId: '1', clientId }));
  const [allowed] = await platform.auth.audit.list({ types: ['app_allowed_again'] });
  t.like(allowed, { userId: '1', clientId });
  t.is((await present(platform, app, await idJag(platform, app))).status, 200);
});

test('that a user has ended it outlives pruning and the end of the user', async (t) => {
  await using platform = await startTrusted();
  const app = await platform.registerApp();
  await present(platform, app, await idJag(platform, app));
  const { userGrants } = platform.auth;
  const [listed] = (await userGrants.list('1')).clients;
  t.true(await userGrants.revoke('1', { grantId: listed!.grants[0]!.id }));
  passTime(400 * 86_400);
  await platform.auth.prune();
  await platform.auth.revoke({ userId: '1' });
  t.like((await present(platform, app, await idJag(platform, app))).body, REFUSED);
  t.is(await lastReason(platform), ENDED);
});

test('an administration without a server allows it again', async (t) => {
  const storage = memoryStorage();
  await using platform = await startTrusted({}, { storage });
  const app = await platform.registerApp();
  await present(platform, app, await idJag(platform, app));
  await platform.auth.userGrants.revoke('1', { clientId: app.client.id });
  const administration = createAdministration({ storage });
  const members = await administration.featureMembers(trustedIssuers());
  t.true(await members.trustedIssuers.allow({ userId: '1', clientId: app.client.id }));
  t.is((await present(platform, app, await idJag(platform, app))).status, 200);
});

test('an app that the user has authorized too is listed once, and disconnected as one', async (t) => {
  await using platform = await startTrusted({ idp: { scopes: ['schools:write'] } });
  const app = await platform.registerApp();
  const browser = await signedIn(platform);
  const own = await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const assertion = await idJag(platform, app, { scope: 'schools:write' });
  const { body } = await present(platform, app, assertion);
  const [listed, ...more] = (await platform.auth.userGrants.list('1')).clients;
  t.is(more.length, 0);
  t.deepEqual(listed!.allowedBy, ['idp.district.example']);
  t.deepEqual(
    listed!.scopes!.map(({ name }) => name),
    ['schools:read', 'schools:write'],
  );
  t.is(listed!.grants.length, 2);
  t.true(await platform.auth.userGrants.revoke('1', { clientId: app.client.id }));
  for (const token of [own.body.access_token, body.access_token])
    t.is((await platform.api('/schools', token)).status, 401);
  t.like(
    (await present(platform, app, await idJag(platform, app, { scope: 'schools:write' }))).body,
    REFUSED,
  );
});

test('two organizations may allow one app, each for its own grant', async (t) => {
  const other = 'https://idp.other.example';
  await using platform = await startTrusted({
    more: {
      [other]: {
        profile: 'id-jag',
        keys: { keys: [(await issuerKeys()).publicJwk] },
        scopes: ['schools:write'],
        findUser: () => platform.users.all[0],
      },
    },
  });
  const app = await platform.registerApp();
  await present(platform, app, await idJag(platform, app));
  const of = { iss: other, sub: 'someone', scope: undefined };
  t.is((await present(platform, app, await idJag(platform, app, of))).status, 200);
  const [listed, ...more] = (await platform.auth.userGrants.list('1')).clients;
  t.is(more.length, 0);
  t.deepEqual(listed!.allowedBy.toSorted(), ['idp.district.example', 'idp.other.example']);
  t.is(listed!.grants.length, 2);
});

test('an end of the user wins against a first presentation under way', async (t) => {
  const { pause, storage } = pausable(memoryStorage());
  await using platform = await startTrusted({}, { storage });
  const app = await platform.registerApp();
  const { reached, resume } = pause('allowedGrants.begin');
  const presenting = present(platform, app, await idJag(platform, app));
  await reached;
  await platform.auth.revoke({ userId: '1' });
  resume();
  t.like((await presenting).body, REFUSED);
  t.is(await lastReason(platform), 'the user, or the app, was ended meanwhile');
  t.deepEqual((await platform.auth.userGrants.list('1')).clients, []);
});

test('a disconnection wins against a presentation under way', async (t) => {
  const { pause, storage } = pausable(memoryStorage());
  await using platform = await startTrusted({}, { storage });
  const app = await platform.registerApp();
  await present(platform, app, await idJag(platform, app));
  const { reached, resume } = pause('allowedGrants.use');
  const presenting = present(platform, app, await idJag(platform, app));
  await reached;
  await platform.auth.userGrants.revoke('1', { clientId: app.client.id });
  resume();
  const { body } = await presenting;
  t.is((await platform.api('/schools', body.access_token)).status, 401);
});

test('findUser() decides who the user is, and another user has a grant of their own', async (t) => {
  const found: string[] = ['1'];
  await using platform = await startTrusted({
    idp: { findUser: () => platform.users.all.find(({ id }) => id === found[0]) },
  });
  const app = await platform.registerApp();
  t.is((await present(platform, app, await idJag(platform, app))).status, 200);
  await platform.auth.userGrants.revoke('1', { clientId: app.client.id });
  found[0] = '2';
  t.is((await present(platform, app, await idJag(platform, app))).status, 200);
  t.is((await platform.auth.userGrants.list('2')).clients.length, 1);
  found[0] = 'nobody';
  t.like((await present(platform, app, await idJag(platform, app))).body, REFUSED);
  t.is(await lastReason(platform), 'findUser() finds no user');
});
