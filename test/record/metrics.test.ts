import test from '../harness/test.ts';
import { personalTokens as withTokens } from 'koa-gatehouse';
import { createMetrics } from 'koa-gatehouse/metrics';
import { Router } from 'koa-router';
import { Registry } from 'prom-client';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { asClient, clientToken, requestClientToken } from '../harness/tokens.ts';
import type { EndpointOutcome, GuardOutcome } from '../../lib/contracts/operation.ts';
import type { Middleware } from 'koa';

/** An app with a route for Prometheus. */
const WITH_METRICS: Mounting = {
  behind: ({ auth }) => [
    new Router().get('/metrics', createMetrics(auth).middleware()).routes() as Middleware,
  ],
};

/** The values by name and labels, without those that are 0 or depend on time. */
async function scrape(platform: Platform): Promise<Record<string, number>> {
  const { text } = await send(`${platform.origin}/metrics`);
  const values = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))] as const;
    });
  return Object.fromEntries(
    values.filter(([name, value]) => value !== 0 && !/_bucket|_sum|_age_/.test(name)),
  );
}

test('all series exist from the start; issued tokens are counted by grant type, refused requests by error', async (t) => {
  await using platform = await startPlatform({ features: [withTokens()] }, WITH_METRICS);
  const { headers, text } = await send(`${platform.origin}/metrics`);
  t.is(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  t.is(headers.get('cache-control'), 'no-store');
  for (const line of [
    '# TYPE gatehouse_tokens_issued_total counter',
    'gatehouse_tokens_issued_total{grant_type="client_credentials"} 0',
    'gatehouse_logins_total{outcome="throttled"} 0',
    'gatehouse_guard_admitted_total{cache="warm",credential="access_token"} 0',
    'gatehouse_personal_tokens_created_total 0',
    'gatehouse_personal_tokens_revoked_total{actor="holder"} 0',
    '# TYPE gatehouse_guard_cold_duration_seconds histogram',
    'gatehouse_requests_in_progress 0',
    '# TYPE gatehouse_signing_key_age_seconds gauge',
  ]) {
    t.true(text.split('\n').includes(line), line);
  }
  const age = /^gatehouse_signing_key_age_seconds (\d+)$/m.exec(text)?.[1];
  t.true(Number(age) < 60, age);

  const app = await platform.registerApp({ firstParty: true });
  const service = await platform.registerService();
  const { body } = await runCodeFlow(platform, app);
  const refresh = { grant_type: 'refresh_token', ...asClient(app), refresh_token: body.refresh_token };
  await platform.token(refresh);
  await platform.token({ ...refresh, refresh_token: 'x' });
  for (let count = 0; count < 3; count += 1) await requestClientToken(platform, service);
  await requestClientToken(platform, app);
  await platform.token({ grant_type: 'PLANTED\n# HELP', ...asClient(app) });
  await send(platform.url('/oauth/token'));
  await postForm(platform.url('/oauth/introspect'), { ...asClient(app), token: 'x' });

  t.deepEqual(await scrape(platform), {
    'gatehouse_tokens_issued_total{grant_type="authorization_code"}': 1,
    'gatehouse_tokens_issued_total{grant_type="refresh_token"}': 1,
    'gatehouse_tokens_issued_total{grant_type="client_credentials"}': 3,
    'gatehouse_tokens_refused_total{grant_type="refresh_token",error="invalid_grant"}': 1,
    'gatehouse_tokens_refused_total{grant_type="client_credentials",error="unauthorized_client"}': 1,
    'gatehouse_tokens_refused_total{grant_type="other",error="unsupported_grant_type"}': 1,
    'gatehouse_tokens_refused_total{grant_type="other",error="invalid_request"}': 1,
    'gatehouse_token_request_duration_seconds_count{grant_type="authorization_code"}': 1,
    'gatehouse_token_request_duration_seconds_count{grant_type="refresh_token"}': 2,
    'gatehouse_token_request_duration_seconds_count{grant_type="client_credentials"}': 4,
    'gatehouse_token_request_duration_seconds_count{grant_type="other"}': 2,
    'gatehouse_logins_total{outcome="succeeded"}': 1,
  });
});

test('requests to the guard are counted: accepted, cached or not, and refused by code', async (t) => {
  // Longer than these requests take on a busy machine: after it, a known token is read again.
  const tokens = { revocationLag: '1 minute' } as const;
  await using platform = await startPlatform({ tokens }, WITH_METRICS);
  const service = await platform.registerService();
  const { body } = await requestClientToken(platform, service);
  for (let count = 0; count < 4; count += 1) await platform.api('/identity', body.access_token);
  await platform.api('/identity');
  await platform.api('/identity', `${body.access_token.slice(0, -10)}AAAAAAAAAA`);
  await platform.api('/schools', body.access_token);
  await platform.auth.revoke({ token: body.access_token });
  await platform.api('/identity', body.access_token);
  t.like(await scrape(platform), {
    'gatehouse_guard_admitted_total{cache="cold",credential="access_token"}': 1,
    'gatehouse_guard_admitted_total{cache="warm",credential="access_token"}': 4,
    'gatehouse_guard_refused_total{code="token_missing"}': 1,
    'gatehouse_guard_refused_total{code="token_invalid"}': 1,
    'gatehouse_guard_refused_total{code="missing_permission"}': 1,
    'gatehouse_guard_refused_total{code="token_revoked"}': 1,
    gatehouse_guard_cold_duration_seconds_count: 1,
    'gatehouse_revocations_total{target="token"}': 1,
  });
});

test('personal tokens are counted, and requests by what they are authenticated with', async (t) => {
  const personal = { features: [withTokens()] } as const;
  await using platform = await startPlatform(personal, { ...WITH_METRICS, api: { session: true } });
  const { auth } = platform;
  const { personalTokens } = auth;
  const token = { userId: '1', name: 'a', lifetime: '1 day', scopes: ['schools:read'] } as const;
  const [first, second, third, fourth] = await Promise.all(
    Array.from({ length: 4 }, async () => personalTokens.create(token)),
  );
  for (let count = 0; count < 3; count += 1) await platform.api('/identity', first!.value);
  await personalTokens.revoke(first!.id);
  await personalTokens.revoke(first!.id);
  await auth.revoke({ token: second!.value });
  await postForm(platform.url('/oauth/revoke'), { token: third!.value });
  const browser = new Browser();
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  const page = await browser.open(platform.url(`/account/tokens/${fourth!.id}/revoke`));
  await browser.submit(page, 'End');
  const cookie = browser.cookieField;
  const headers = { cookie, 'sec-fetch-site': 'same-origin' };
  t.is((await send(platform.url('/api/v1/identity'), { headers })).status, 200);
  t.like(await scrape(platform), {
    'gatehouse_guard_admitted_total{cache="cold",credential="personal_token"}': 1,
    'gatehouse_guard_admitted_total{cache="warm",credential="personal_token"}': 2,
    'gatehouse_guard_admitted_total{cache="cold",credential="session"}': 1,
    gatehouse_personal_tokens_created_total: 4,
    'gatehouse_personal_tokens_revoked_total{actor="host"}': 2,
    'gatehouse_personal_tokens_revoked_total{actor="holder"}': 1,
    'gatehouse_personal_tokens_revoked_total{actor="user"}': 1,
  });
});

test('logins and revocations are counted', async (t) => {
  await using platform = await startPlatform({}, WITH_METRICS);
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  for (const password of ['wrong', 'wrong again'])
    await signIn(browser, login, 'ann@school.example', password);
  await authorize(platform, app, { browser });
  const { body } = await runCodeFlow(platform, app, { browser });
  await postForm(platform.url('/oauth/revoke'), { ...asClient(app), token: body.refresh_token });
  await platform.auth.revoke({ userId: '1' });
  await platform.auth.revoke({ clientId: app.client.id });
  t.like(await scrape(platform), {
    'gatehouse_logins_total{outcome="failed"}': 2,
    'gatehouse_logins_total{outcome="succeeded"}': 1,
    'gatehouse_revocations_total{target="grant"}': 1,
    'gatehouse_revocations_total{target="user"}': 1,
    'gatehouse_revocations_total{target="client"}': 1,
  });
});

test('the series can be registered once in a registry of the host, of a server, with known options', async (t) => {
  await using platform = await startPlatform();
  const { auth } = platform;
  const register = new Registry();
  const { events, signingKeys: keys, observe } = auth;
  for (const [server, options, message] of [
    [{ events, keys, observe }, { register }, 'auth: pass the server that createAuthServer() resolved to'],
    [
      auth,
      { registry: register },
      'createMetrics({ registry }): there is no such option; did you mean register? The options are register',
    ],
    [auth, { register: {} }, 'createMetrics({ register }): pass a Registry of prom-client, or leave it out'],
    [auth, null, 'createMetrics(): pass an object with some of register'],
  ] as const)
    t.throws(() => Reflect.apply(createMetrics, undefined, [server, options]), {
      code: 'ERR_CONFIG',
      message,
    });
  t.deepEqual(register.getMetricsAsArray(), []);
  t.is(createMetrics(auth, { register }).register, register);
  t.throws(() => createMetrics(auth, { register }), { message: /already been registered/ });
});

test('counters keep their values when metrics are stopped', async (t) => {
  await using platform = await startPlatform();
  const service = await platform.registerService();
  const metrics = createMetrics(platform.auth);
  const token = async () => requestClientToken(platform, service);
  await token();
  metrics.stop();
  await token();
  t.regex(
    await metrics.register.metrics(),
    /^gatehouse_tokens_issued_total\{grant_type="client_credentials"\} 1$/m,
  );
});

test('observers receive the outcome of each request and of each guard check', async (t) => {
  await using platform = await startPlatform();
  const service = await platform.registerService();
  const outcomes: (EndpointOutcome | GuardOutcome)[] = [];
  const stop = platform.auth.observe({
    answered: (outcome) => outcomes.push(outcome),
    guarded: (outcome) => outcomes.push(outcome),
  });
  const { body, headers } = await requestClientToken(platform, service);
  await platform.api('/identity', body.access_token);
  await platform.api('/identity', body.access_token);
  await platform.api('/identity');
  stop();
  await platform.api('/identity');
  const [answered, cold, ...more] = outcomes;
  t.like(answered, {
    endpoint: 'token',
    requestId: headers.get('x-request-id')!,
    clientId: service.client.id,
    grantType: 'client_credentials',
    status: 200,
    error: undefined,
  });
  t.like(cold, { admitted: true, remembered: false, credential: 'access_token' });
  t.deepEqual(more, [
    { admitted: true, remembered: true, credential: 'access_token' },
    { admitted: false, code: 'token_missing' },
  ]);
});

test('an observer that throws affects no request and no other observer', async (t) => {
  await using platform = await startPlatform();
  const failure = new Error('it broke');
  const fail = (): never => {
    throw failure;
  };
  const observer = {
    count: 0,
    answered: fail,
    guarded() {
      this.count += 1;
    },
  };
  platform.auth.observe({ guarded: fail });
  platform.auth.observe(observer);
  const token = await clientToken(platform, await platform.registerService());
  t.is((await platform.api('/identity', token)).status, 200);
  t.is(observer.count, 1);
  const line = { level: 'error', message: 'observer failed', fields: { err: failure } };
  t.deepEqual(
    platform.logger.lines.filter(({ level }) => level === 'error'),
    [line, line],
  );
});
