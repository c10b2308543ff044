import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import type { AuditRecord } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { breakable } from '../harness/storage.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import type { AuditEventType } from '../../lib/contracts/audit.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  return { platform };
});

const HERE = { address: '127.0.0.1' };

/** The audit events of a client but those of its registration, oldest first, without ids and times. */
async function eventsOf({ client }: Pick<RegisteredApp, 'client'>): Promise<object[]> {
  const { platform } = await started();
  const records = await platform.auth.audit.list({ clientId: client.id, limit: 200 });
  return records
    .toReversed()
    .filter(({ type }) => type !== 'client_created' && type !== 'secret_added')
    .map(({ id: _id, at: _at, requestId: _requestId, ...rest }) => rest);
}

/** The events of a type that listeners receive during a call. */
async function eventsDuring(type: AuditEventType, act: () => Promise<unknown>): Promise<AuditRecord[]> {
  const { platform } = await started();
  const records: AuditRecord[] = [];
  const stop = platform.auth.events.on('*', (record) => {
    if (record.type === type) records.push(record);
  });
  await act();
  stop();
  return records;
}

test('token_issued for a client, for a user and for a refresh', async (t) => {
  const { platform } = await started();
  const service = await platform.registerService();
  await requestClientToken(platform, service);
  const clientId = service.client.id;
  t.deepEqual(await eventsOf(service), [
    { type: 'token_issued', clientId, grantType: 'client_credentials', ...HERE },
  ]);

  const app = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, app);
  await exchangeRefreshToken(platform, app, body.refresh_token);
  const grantId = decodeJwt(body.access_token)['grant_id'];
  const issued = { type: 'token_issued', clientId: app.client.id, userId: '1', grantId, ...HERE };
  t.deepEqual(await eventsOf(app), [
    { type: 'login', userId: '1', clientId: app.client.id, ...HERE },
    { ...issued, grantType: 'authorization_code' },
    { ...issued, grantType: 'refresh_token' },
  ]);
});

test('events of a disabled app have that as reason', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  await platform.auth.clients.disable(app.client.id);
  await exchangeRefreshToken(platform, app, 'x');
  await new Browser().get(authorizeUrl(platform, app));
  const disabled = {
    clientId: app.client.id,
    error: 'invalid_client',
    reason: 'the app is disabled',
    ...HERE,
  };
  t.deepEqual((await eventsOf(app)).slice(1), [
    { type: 'token_refused', grantType: 'refresh_token', ...disabled },
    { type: 'authorization_refused', ...disabled },
  ]);
});

test('a refused token of another app says nothing of its user', async (t) => {
  const { platform } = await started();
  const [app, thief] = [await platform.registerApp({ firstParty: true }), await platform.registerApp()];
  const { body } = await runCodeFlow(platform, app);
  for (const by of [thief, app]) await exchangeRefreshToken(platform, by, body.refresh_token);
  t.deepEqual(
    (await eventsOf(thief)).map((event) => [(event as AuditRecord).type, 'userId' in event]),
    [['token_refused', false]],
  );
});

test('the id of an unknown client is not recorded', async (t) => {
  const { platform } = await started();
  const records = await eventsDuring('token_refused', async () =>
    platform.token({ grant_type: 'client_credentials', client_id: 'made-up', client_secret: 'x' }),
  );
  t.is(records.length, 1);
  t.like(records[0], { error: 'invalid_client', reason: 'client not found' });
  t.false('clientId' in records[0]!);
});

test('authorization_refused for each kind of error', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await browser.get(authorizeUrl(platform, app, { redirect_uri: 'https://evil.example' }));
  await browser.get(authorizeUrl(platform, app, { scope: 'unheard-of' }));
  await browser.get(authorizeUrl(platform, app, { prompt: 'none' }));
  await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  await browser.get(authorizeUrl(platform, app, { prompt: 'none' }));
  const refused = { type: 'authorization_refused', clientId: app.client.id, ...HERE };
  t.deepEqual(await eventsOf(app), [
    {
      ...refused,
      error: 'invalid_redirect_uri',
      reason:
        "redirect_uri did not match any of the client's registered redirect_uris; the client sent https://evil.example/",
    },
    { ...refused, error: 'invalid_scope', reason: 'requested scope is not allowed' },
    { ...refused, error: 'login_required', reason: 'End-User authentication is required' },
    { type: 'login', clientId: app.client.id, userId: '1', ...HERE },
    { ...refused, userId: '1', error: 'consent_required', reason: 'consent was never given' },
  ]);
});

test('a consent to a request without scopes has none, and neither has its denial', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const consent = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  await browser.follow(await browser.submit(consent, 'Deny'));
  await browser.submit(await browser.open(authorizeUrl(platform, app)), 'Authorize');
  const decided = { clientId: app.client.id, userId: '1', scopes: [], ...HERE };
  t.deepEqual((await eventsOf(app)).slice(1), [
    { type: 'consent_denied', ...decided },
    { type: 'consent_given', ...decided },
  ]);
});

test('logins, failed logins, consents and denials are recorded once each', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const clientId = app.client.id;
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app, { scope: 'schools:read' }));
  await signIn(browser, login, 'ann@school.example', 'not her password');
  const consent = await signIn(browser, login);
  await browser.follow(await browser.submit(consent, 'Deny'));
  const again = await browser.open(authorizeUrl(platform, app, { scope: 'schools:read' }));
  await browser.follow(await browser.submit(again, 'Authorize'));
  const decided = { clientId, userId: '1', scopes: ['schools:read'], ...HERE };
  t.deepEqual(await eventsOf(app), [
    { type: 'login_failed', clientId, ...HERE },
    { type: 'login', clientId, userId: '1', ...HERE },
    { type: 'consent_denied', ...decided },
    { type: 'consent_given', ...decided },
  ]);
  const records = await eventsDuring('logout', async () => {
    const page = await browser.open(platform.url('/oauth/logout'));
    await browser.submit(page, 'Sign out');
    await browser.post(platform.url('/oauth/logout'), new URLSearchParams());
  });
  t.is(records.length, 1);
  t.like(records[0], { userId: '1', ...HERE });
});

test('POST /oauth/revoke records which token or grant was revoked', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const service = await platform.registerService();
  const { body } = await runCodeFlow(platform, app);
  const own = await requestClientToken(platform, service);
  for (const [by, token] of [
    [app, body.access_token],
    [app, body.refresh_token],
    [app, body.refresh_token],
    [app, 'unknown'],
    [service, own.body.access_token],
    [service, body.access_token],
  ] as const) {
    await postForm(platform.url('/oauth/revoke'), { ...asClient(by), token });
  }
  const grantId = decodeJwt(body.access_token)['grant_id'];
  const ofUser = { type: 'tokens_revoked', clientId: app.client.id, userId: '1', grantId, ...HERE };
  t.deepEqual((await eventsOf(app)).slice(2), [
    { ...ofUser, target: 'token' },
    { ...ofUser, target: 'grant' },
  ]);
  t.deepEqual((await eventsOf(service)).slice(1), [
    { type: 'tokens_revoked', target: 'token', clientId: service.client.id, ...HERE },
  ]);
});

test('auth.revoke() records what was revoked, and nothing for unknown tokens and grants', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const clientId = app.client.id;
  const { body } = await runCodeFlow(platform, app);
  const { body: other } = await runCodeFlow(platform, app);
  const before = (await eventsOf(app)).length;
  const { auth } = platform;
  const grantId = String(decodeJwt(body.access_token)['grant_id']);
  const otherId = String(decodeJwt(other.access_token)['grant_id']);
  await auth.revoke({ token: body.access_token });
  await auth.revoke({ token: body.refresh_token });
  await auth.revoke({ grantId: otherId });
  await auth.revoke({ grantId: otherId });
  await auth.revoke({ grantId: 'unknown' });
  await auth.revoke({ token: 'unknown' });
  await auth.revoke({ clientId });
  const revoked = { type: 'tokens_revoked', clientId, userId: '1' };
  t.deepEqual((await eventsOf(app)).slice(before), [
    { ...revoked, target: 'token', grantId },
    { ...revoked, target: 'grant', grantId },
    { ...revoked, target: 'grant', grantId: otherId },
    { type: 'tokens_revoked', target: 'client', clientId },
  ]);
  const records = await eventsDuring('tokens_revoked', async () => auth.revoke({ userId: 'unknown' }));
  t.like(records[0], { target: 'user', userId: 'unknown' });
});

test('a code that is used twice records the refused request and the revoked grant', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const code = (await authorize(platform, app)).get('code');
  const { body } = await exchangeCode(platform, app, code);
  await exchangeCode(platform, app, code);
  const ofUser = { clientId: app.client.id, userId: '1', ...HERE };
  const grantId = decodeJwt(body.access_token)['grant_id'];
  t.deepEqual((await eventsOf(app)).slice(-2), [
    { type: 'tokens_revoked', target: 'grant', grantId, ...ofUser },
    {
      type: 'token_refused',
      grantType: 'authorization_code',
      error: 'invalid_grant',
      reason: 'authorization code already used',
      ...ofUser,
    },
  ]);
});

test('key_rotated has the id of the new key', async (t) => {
  await using own = await startPlatform();
  const { id } = await own.auth.signingKeys.rotate();
  t.like(await own.auth.audit.list(), { length: 1, 0: { type: 'key_rotated', keyId: id } });
});

test('when events cannot be stored, requests are answered and listeners are called', async (t) => {
  const { broken, storage } = breakable();
  broken.add('audit');
  await using own = await startPlatform({ storage });
  const service = await own.registerService();
  const issued: string[] = [];
  own.auth.events.on('token_issued', ({ clientId }) => issued.push(clientId));
  t.is((await requestClientToken(own, service)).status, 200);
  t.deepEqual(issued, [service.client.id]);
  await t.throwsAsync(own.auth.audit.flush());
});

test('after an error of the storage the reason names the request id of the log line', async (t) => {
  const { broken, storage } = breakable(memoryStorage(), new Error('a driver says: password=hunter2'));
  await using own = await startPlatform({ storage });
  const records: AuditRecord[] = [];
  own.auth.events.on('token_refused', (record) => records.push(record));
  broken.add('clients.find');
  const unknown = { grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' };
  t.is((await own.token(unknown)).status, 500);
  t.is(records.length, 1);
  const line = own.logger.lines.find(({ level }) => level === 'error')!;
  const { request_id: id } = line.fields as { request_id: string };
  t.like(records[0], { error: 'server_error', reason: `the server failed; see ${id} in its log` });
});

test('with retention.audit: 0 nothing is stored, and listeners are called', async (t) => {
  const storage = memoryStorage();
  await using own = await startPlatform({ storage, retention: { audit: 0 } });
  const types: string[] = [];
  own.auth.events.on('*', ({ type }) => types.push(type));
  await own.registerService();
  t.deepEqual(types, ['client_created', 'secret_added']);
  await own.auth.audit.flush();
  t.deepEqual(await storage.audit.list({}), []);
});

// Sets the clock ahead.
test.serial('events are pruned after auditRetention', async (t) => {
  await using own = await startPlatform({ retention: { audit: '10 days' } });
  await own.registerService();
  await own.auth.audit.flush();
  passTime(9 * 86_400);
  await own.auth.prune();
  t.is((await own.auth.audit.list()).length, 2);
  passTime(2 * 86_400);
  await own.auth.prune();
  t.deepEqual(await own.auth.audit.list(), []);
});
