import { decodeJwt } from 'jose';
import test from '../harness/test.ts';

import { passTime, stopClock } from '../harness/clock.ts';
import { BOTH_SCOPES, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { exchangeRefreshToken, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform({
      scopes: BOTH_SCOPES,
    }),
  );
  const app = await platform.registerApp({ firstParty: true });
  const other = await platform.registerApp({ name: 'Other', firstParty: true });
  const publicApp = await platform.registerApp({ name: 'Public', confidential: false });
  const service = await platform.registerService();
  return { platform, app, other, publicApp, service };
});

async function refresh(token: string, by?: RegisteredApp, more = {}): Promise<TokenAnswer> {
  const { app, platform } = await started();
  return exchangeRefreshToken(platform, by ?? app, token, more);
}

/** The tokens of a new grant for scopes. */
async function granted(scope = '', to?: RegisteredApp): Promise<TokenAnswer['body']> {
  const { app, platform } = await started();
  return (await runCodeFlow(platform, to ?? app, { parameters: { scope } })).body;
}

const BOTH = 'schools:read schools:write';
const DAY = 86_400;

async function worksAt(token: string): Promise<boolean> {
  const { platform } = await started();
  return (await platform.api('/identity', token)).status === 200;
}

test.serial(
  'within refreshGrace a used refresh token leads to the newest one, and after it revokes the family',
  async (t) => {
    const { platform } = await started();
    using _stopped = stopClock();
    for (const generations of [1, 2, 3]) {
      const elsewhere = await granted();
      const oldest = await granted();
      const answers = [await refresh(oldest.refresh_token)];
      while (answers.length < generations) answers.push(await refresh(answers.at(-1)!.body.refresh_token));
      passTime(59);
      const retried = await refresh(oldest.refresh_token);
      t.is(retried.status, 200);
      t.is(retried.body.refresh_token, answers.at(-1)!.body.refresh_token);
      t.not(retried.body.access_token, answers.at(-1)!.body.access_token);
      t.true(await worksAt(retried.body.access_token));
      passTime(1);
      const replayed = await refresh(oldest.refresh_token);
      t.deepEqual([replayed.status, replayed.body as object], [400, REFUSED_GRANT]);
      for (const { body } of [...answers, retried]) {
        t.deepEqual((await refresh(body.refresh_token)).body, REFUSED_GRANT);
        t.is((await platform.api('/identity', body.access_token)).body['code'], 'token_revoked');
      }
      t.false(await worksAt(oldest.access_token));
      t.true(await worksAt(elsewhere.access_token), 'another family of the user still works');
      t.is((await refresh(elsewhere.refresh_token)).status, 200);
    }
  },
);

test.serial(
  'another client cannot use a refresh token, nor mark it as used, nor revoke its family',
  async (t) => {
    const { other, publicApp, service, app } = await started();
    const { refresh_token: token } = await granted();
    const foreign = async (): Promise<void> => {
      for (const [by, status, error] of [
        [other, 400, 'invalid_grant'],
        [publicApp, 400, 'invalid_grant'],
        [service, 400, 'unauthorized_client'],
        [{ ...app, secret: 'wrong' }, 401, 'invalid_client'],
        [{ ...app, secret: '' }, 401, 'invalid_client'],
        [{ ...app, secret: other.secret }, 401, 'invalid_client'],
      ] as const)
        t.like(await refresh(token, by), { status, body: { error } });
    };
    await foreign();
    passTime(60);
    const { status, body: next } = await refresh(token);
    t.is(status, 200);
    passTime(60);
    await foreign();
    t.is((await refresh(next.refresh_token)).status, 200);
  },
);

// Longer than a login session lasts.
test.serial(
  'a refresh token expires a year after its issue, and each refresh issues one for a year',
  async (t) => {
    const body = await granted();
    passTime(364 * DAY);
    const { body: second } = await refresh(body.refresh_token);
    passTime(364 * DAY);
    t.false(await worksAt(body.access_token), 'the first access token has expired');
    t.true(await worksAt(second.access_token));
    const { body: third, status } = await refresh(second.refresh_token);
    t.is(status, 200);
    passTime(366 * DAY);
    t.deepEqual((await refresh(third.refresh_token)).body, REFUSED_GRANT);
    t.false(await worksAt(third.access_token));
  },
);

test.serial('a refused request does not mark the refresh token as used', async (t) => {
  const { app, platform } = await started();
  const { refresh_token: token } = await granted('schools:read');
  const { refresh_token: unscoped } = await granted();
  for (const [presented, mistake, error] of [
    [token, { resource: 'https://evil.example/' }, 'invalid_target'],
    [token, { resource: 'nonsense' }, 'invalid_target'],
    [token, { client_secret: 'wrong' }, 'invalid_client'],
    [token, { scope: 'a"b' }, 'invalid_scope'],
    [token, { scope: 'schools:write' }, 'invalid_scope'],
    [token, { scope: BOTH }, 'invalid_scope'],
    [token, { scope: 'schools:read unknown' }, 'invalid_scope'],
    [token, { scope: 'SCHOOLS:READ' }, 'invalid_scope'],
    [unscoped, { scope: 'schools:read' }, 'invalid_scope'],
  ] as const) {
    const answer = await refresh(presented, app, mistake);
    t.is(answer.body.error, error, JSON.stringify(mistake));
    t.is(answer.status, error === 'invalid_client' ? 401 : 400);
    t.false('access_token' in answer.body);
  }
  passTime(60);
  const { status, body: next } = await refresh(token, app, { resource: platform.origin });
  t.is(status, 200);
  t.true(await worksAt(next.access_token));
  t.is((await refresh(unscoped)).status, 200);
});

test('each refresh gives new tokens for the same user, client and grant', async (t) => {
  const { platform, app } = await started();
  const body = await granted(BOTH);
  const before = decodeJwt(body.access_token);
  const seen = [body.refresh_token];
  for (let count = 0; count < 2; count += 1) {
    const { status, body: next, headers } = await refresh(seen.at(-1)!);
    t.is(status, 200);
    const { access_token: access, refresh_token: successor, ...rest } = next;
    t.deepEqual(rest, { token_type: 'Bearer', expires_in: 31_536_000, scope: BOTH });
    t.is(headers.get('cache-control'), 'no-store');
    const { iat, exp, jti, ...claims } = decodeJwt(access);
    t.deepEqual(claims, {
      iss: platform.origin,
      aud: platform.origin,
      sub: '1',
      client_id: app.client.id,
      principal: 'user',
      grant_id: before['grant_id'],
      scope: BOTH,
    });
    t.is(exp! - iat!, 31_536_000);
    t.not(jti, before.jti);
    t.true(await worksAt(access));
    t.false(seen.includes(successor));
    seen.push(successor);
  }
  t.true(await worksAt(body.access_token), 'the first access token still works');
});

test('a narrower scope applies to the new access token only', async (t) => {
  const { app, platform } = await started();
  // The scope * is how apps of Laravel Passport ask for all that was granted.
  for (const [all, scope, expected] of [
    [BOTH, 'schools:write', 'schools:write'],
    [BOTH, '', BOTH],
    ['schools:read', '*', 'schools:read'],
    ['', '', undefined],
  ] as const) {
    const { body } = await refresh((await granted(all)).refresh_token, app, { scope });
    t.is(body.scope, expected);
    t.is(decodeJwt(body.access_token)['scope'], expected);
    const permitted = expected !== 'schools:write';
    t.is((await platform.api('/schools', body.access_token)).status, permitted ? 200 : 403);
    t.is((await refresh(body.refresh_token)).body.scope, all === '' ? undefined : all);
  }
});

// A token without scopes has all permissions of its user.
test('scopes that the client may no longer request are left out; when none is left, the refresh is refused', async (t) => {
  const { platform } = await started();
  const narrow = await platform.registerApp({ firstParty: true });
  const { clients } = platform.auth;
  const { refresh_token: token } = await granted('schools:read', narrow);
  const { refresh_token: ofBoth } = await granted(BOTH, narrow);
  await clients.update(narrow.client.id, { scopes: ['schools:write'] });
  for (const more of [{}, { scope: '' }, { scope: 'schools:read' }]) {
    const answer = await refresh(token, narrow, more);
    t.is(answer.status, 400);
    t.like(answer.body, {
      error: 'invalid_scope',
      error_description: 'the scopes of this grant are not allowed any more',
    });
  }
  const { body: next } = await refresh(ofBoth, narrow);
  t.is(next.scope, 'schools:write');
  t.is(decodeJwt(next.access_token)['scope'], 'schools:write');
  const refused = await refresh(next.refresh_token, narrow, { scope: 'schools:read' });
  t.is(refused.body.error, 'invalid_scope');

  await clients.update(narrow.client.id, { scopes: undefined });
  t.is((await refresh(token, narrow)).body.scope, 'schools:read', 'the token is still unused');
});

test('a disabled client gets no tokens until it is enabled, and deleting a client ends its tokens', async (t) => {
  const { platform } = await started();
  const own = await platform.registerApp({ firstParty: true });
  const { refresh_token: token } = await granted('', own);
  const { clients } = platform.auth;
  await clients.disable(own.client.id);
  t.like(await refresh(token, own), { status: 401, body: { error: 'invalid_client' } });
  await clients.enable(own.client.id);
  const { status, body } = await refresh(token, own);
  t.is(status, 200);
  await clients.delete(own.client.id);
  t.is((await refresh(body.refresh_token, own)).status, 401);
  t.false(await worksAt(body.access_token));
});
