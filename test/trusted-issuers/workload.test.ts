import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime, resetClock } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { basic, postForm } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import {
  CI,
  IDP,
  JOB,
  JWT_BEARER,
  jobToken,
  lastReason,
  presentJob,
  REFUSED,
  startTrusted,
} from './identity-provider.ts';
import type { Trusted, TrustedPlatform } from './identity-provider.ts';

test.afterEach.always(resetClock);

/** A platform whose CI has rules for two services that are registered before. */
async function startWithServices(
  ci: Partial<NonNullable<Trusted['ci']>> = {},
): Promise<{ platform: TrustedPlatform; service: RegisteredApp; other: RegisteredApp; app: RegisteredApp }> {
  const storage = memoryStorage();
  await using before = await startPlatform({ storage });
  const service = await before.registerService(['view_schools']);
  const other = await before.registerService();
  const app = await before.registerApp();
  const rules = [
    { client: service.client.id, match: { sub: JOB, repository_id: '42' } },
    { client: other.client.id, match: { sub: 'repo:acme/tools:*', repository_id: '43' } },
    { client: other.client.id, match: { sub: 'pod', aud: 'gatehouse' } },
    { client: other.client.id, match: { sub: 'repo:acme/open:pull_request' } },
    {
      client: other.client.id,
      match: { sub: 'repo:acme/open:ref:refs/heads/main', event_name: 'pull_request_target' },
    },
    { client: app.client.id, match: { sub: 'user' } },
  ];
  return { platform: await startTrusted({ ci: { rules, ...ci } }, { storage }), service, other, app };
}

const started = shared(async (stack) => {
  const all = await startWithServices();
  stack.use(all.platform);
  return all;
});

test('a job gets a token of its client, with or without its client_id', async (t) => {
  const { platform, service } = await started();
  for (const more of [{ client_id: service.client.id }, {}, { scope: 'schools:read' }]) {
    const { body, status } = await presentJob(platform, await jobToken(platform), more);
    t.is(status, 200);
    t.like(decodeJwt(body.access_token), {
      principal: 'client',
      sub: service.client.id,
      client_id: service.client.id,
      asserted_by: CI,
    });
    t.false('refresh_token' in body);
    t.is(body.scope, 'scope' in more ? more.scope : undefined);
    t.is((await platform.api('/schools', body.access_token)).status, 200);
  }
  const [accepted] = await platform.auth.audit.list({ types: ['assertion_accepted'] });
  t.like(accepted, { clientId: service.client.id, issuer: CI, subject: JOB });
  t.false('userId' in accepted!);
  const [issued] = await platform.auth.audit.list({ types: ['token_issued'] });
  t.like(issued, { clientId: service.client.id, grantType: JWT_BEARER });
});

test('the first rule that a workload meets decides the client', async (t) => {
  const { other, platform } = await started();
  for (const claims of [
    { sub: 'repo:acme/tools:ref:refs/tags/v1', repository_id: '43' },
    { sub: 'pod', aud: 'gatehouse' },
    { sub: 'repo:acme/open:pull_request', event_name: 'pull_request' },
    { sub: 'repo:acme/open:ref:refs/heads/main', event_name: 'pull_request_target' },
  ]) {
    const { body, status } = await presentJob(platform, await jobToken(platform, claims));
    t.is(status, 200, `${claims.sub}: ${body.error_description}`);
    t.is(decodeJwt(body.access_token).sub, other.client.id);
  }
});

test('the secret of the client works beside it, and must be right', async (t) => {
  const { platform, service } = await started();
  const { id } = service.client;
  const post = async (assertion: string, headers: Record<string, string>): Promise<number> =>
    (await postForm(platform.url('/oauth/token'), { grant_type: JWT_BEARER, assertion }, headers)).status;
  t.is(await post(await jobToken(platform), basic(id, service.secret)), 200);
  t.is(await post(await jobToken(platform), basic(id, 'wrong')), 401);
});

test('the assertion authenticates its client for this grant only', async (t) => {
  const { platform, service } = await started();
  const assertion = await jobToken(platform);
  const parameters = { assertion, client_id: service.client.id };
  const grants = ['client_credentials', 'refresh_token', 'authorization_code'];
  for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke'])
    for (const grant_type of path === '/oauth/token' ? grants : [JWT_BEARER]) {
      const more = { code: 'x', refresh_token: 'x', token: 'x' };
      const { body, status } = await postForm(platform.url(path), { grant_type, ...parameters, ...more });
      t.is(`${status} ${String(body!['error'])}`, '401 invalid_client', `${path} ${grant_type}`);
    }
  // After a request of the grant, whose client the engine keeps.
  t.is((await presentJob(platform, assertion)).status, 200);
  const alone = { grant_type: 'client_credentials', client_id: service.client.id };
  for (const more of [{}, { client_secret: 'wrong' }])
    t.is((await platform.token({ ...alone, ...more })).status, 401);
});

test('a job is used once, or again for a lost answer, and not after the end of its client', async (t) => {
  const { platform, service } = await startWithServices();
  await using _stops = platform;
  const assertion = await jobToken(platform);
  t.is((await presentJob(platform, assertion)).status, 200);
  t.is((await presentJob(platform, assertion)).status, 200);
  passTime(61);
  t.like((await presentJob(platform, assertion)).body, REFUSED);
  t.is(await lastReason(platform), 'it was used before');
  resetClock();
  const last = await jobToken(platform);
  const { body } = await presentJob(platform, last);
  await platform.auth.revoke({ clientId: service.client.id });
  t.is((await platform.api('/schools', body.access_token)).status, 401);
  t.like((await presentJob(platform, last)).body, REFUSED);
  t.is((await presentJob(platform, await jobToken(platform))).status, 200);
});

test('with once: false, an assertion is used for as long as it is valid, and needs no jti', async (t) => {
  const { platform } = await startWithServices({ once: false });
  await using _stops = platform;
  const assertion = await jobToken(platform, { jti: undefined });
  for (let uses = 0; uses < 4; uses += 1) {
    t.is((await presentJob(platform, assertion)).status, 200);
    passTime(60);
  }
  passTime(3600);
  t.like((await presentJob(platform, assertion)).body, REFUSED);
  t.is(await lastReason(platform), 'it has expired (exp)');
});

test('a client that acts for users gets none, and a disabled one neither', async (t) => {
  const { app, other, platform } = await startWithServices();
  await using _stops = platform;
  const ofUser = await presentJob(platform, await jobToken(platform, { sub: 'user' }));
  t.is(`${ofUser.status} ${ofUser.body.error}`, '400 unauthorized_client');
  t.is(ofUser.headers.get('access-control-allow-origin'), null);
  t.truthy(app);
  await platform.auth.clients.disable(other.client.id);
  const pod = await presentJob(platform, await jobToken(platform, { sub: 'pod', aud: 'gatehouse' }));
  t.is(`${pod.status} ${pod.body.error}`, '401 invalid_client');
});

test('what an identity provider signs authenticates no client, whatever its type', async (t) => {
  const { platform, service } = await startWithServices();
  await using _stops = platform;
  for (const typ of ['JWT', undefined, 'oauth-id-jag+jwt']) {
    const assertion = await jobToken(platform, { iss: IDP }, { header: { typ } });
    const named = await presentJob(platform, assertion, { client_id: service.client.id });
    t.is(`${named.status} ${named.body.error}`, '401 invalid_client');
    const unnamed = await presentJob(platform, assertion);
    t.is(`${unnamed.status} ${unnamed.body.error}`, '400 invalid_request');
  }
});
