import { decodeJwt } from 'jose';
import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { exchangeCode, requestClientToken } from '../harness/tokens.ts';
import { familiesOf } from './families.ts';

const storage = memoryStorage();
const platform = await startPlatform({ storage });
const app = await platform.registerApp({ firstParty: true });
const other = await platform.registerApp({ name: 'Other', firstParty: true });
test.after.always(() => platform[Symbol.asyncDispose]());

const { family, serviceToken, guard, canRefresh } = familiesOf(platform, app);

test('auth.revoke({ token }) revokes an access token, or the family of a refresh token', async (t) => {
  const one = await family();
  await platform.auth.revoke({ token: one.access });
  t.is(await guard(one.access), 'token_revoked');
  t.true(await canRefresh(one.refresh));

  const two = await family();
  await platform.auth.revoke({ token: two.refresh });
  t.is(await guard(two.access), 'token_revoked');
  t.false(await canRefresh(two.refresh));

  const { token } = await serviceToken();
  await platform.auth.revoke({ token });
  t.is(await guard(token), 'token_revoked');
  await t.notThrowsAsync(platform.auth.revoke({ token: 'nonsense' }));
});

test('auth.revoke({ token }) revokes an unused code', async (t) => {
  const code = (await authorize(platform, app)).get('code')!;
  await platform.auth.revoke({ token: code });
  const { status, body } = await exchangeCode(platform, app, code);
  t.is(status, 400);
  t.is(body.error, 'invalid_grant');
});

test('auth.revoke({ grant }) revokes the tokens of the grant', async (t) => {
  const { access, refresh } = await family();
  const another = await family();
  t.is(await guard(access), 200);
  await platform.auth.revoke({ grant: decodeJwt(access)['grant_id'] as string });
  t.is(await guard(access), 'token_revoked');
  t.false(await canRefresh(refresh));
  t.is(await guard(another.access), 200);
});

test('auth.revoke({ user }) revokes the tokens for the user and ends the sessions', async (t) => {
  platform.users.all.push({
    id: 'hal',
    name: 'Hal',
    email: 'hal@school.example',
    password: 'p',
    permissions: [],
  });
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(platform, app)), 'hal@school.example', 'p');
  const families = [await family(app, browser), await family(other, browser)];
  const ofAnn = await family();
  for (const { access } of families) t.is(await guard(access), 200);
  await platform.auth.revoke({ user: 'hal' });
  for (const { access } of families) t.is(await guard(access), 'token_revoked');
  t.false(await canRefresh(families[0]!.refresh));
  t.false(await canRefresh(families[1]!.refresh, other));
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
  t.is(await guard(ofAnn.access), 200, 'those of other users still work');
  t.true(await canRefresh(ofAnn.refresh));
});

test('auth.revoke({ client }) revokes the tokens of the client and those for its users', async (t) => {
  const own = await platform.registerApp({ firstParty: true });
  const { access, refresh } = await family(own);
  const { service, token } = await serviceToken();
  const ofOther = await family();
  t.deepEqual([await guard(access), await guard(token)], [200, 200]);
  await platform.auth.revoke({ client: own.client.id });
  await platform.auth.revoke({ client: service.client.id });
  t.deepEqual([await guard(access), await guard(token)], ['token_revoked', 'token_revoked']);
  t.false(await canRefresh(refresh, own));
  t.is(await guard(ofOther.access), 200);
  t.is(await guard((await family(own)).access), 200, 'users can authorize it again');
});

test('tokens that a client gets after auth.revoke({ client }) work', async (t) => {
  for (let round = 0; round < 2; round += 1) {
    const { service, token } = await serviceToken();
    await platform.auth.revoke({ client: service.client.id });
    const { body } = await requestClientToken(platform, service);
    t.deepEqual([await guard(token), await guard(body.access_token)], ['token_revoked', 200]);
  }
});

test('tokens of a disabled client are refused at once, until it is enabled', async (t) => {
  const own = await platform.registerApp({ firstParty: true });
  const { access } = await family(own);
  const { service, token } = await serviceToken();
  t.deepEqual([await guard(access), await guard(token)], [200, 200]);
  for (const { client } of [own, service]) await platform.auth.clients.disable(client.id);
  t.deepEqual([await guard(access), await guard(token)], ['token_holder_gone', 'token_holder_gone']);
  for (const { client } of [own, service]) await platform.auth.clients.enable(client.id);
  t.deepEqual([await guard(access), await guard(token)], [200, 200]);
});

test('tokens of a deleted client are refused at once', async (t) => {
  const own = await platform.registerApp({ firstParty: true });
  const { access } = await family(own);
  const { service, token } = await serviceToken();
  t.deepEqual([await guard(access), await guard(token)], [200, 200]);
  for (const { client } of [own, service]) t.true(await platform.auth.clients.delete(client.id));
  t.deepEqual([await guard(access), await guard(token)], ['token_holder_gone', 'token_holder_gone']);
});

test('an invalid target is refused', async (t) => {
  const { access } = await family();
  for (const target of [
    {},
    { userId: '1' },
    { token: undefined },
    { user: undefined },
    { client: '' },
    { grant: 1 },
    { user: '1', client: app.client.id },
    { all: false },
    { all: true, user: '1' },
    '1',
    null,
  ]) {
    await t.throwsAsync(platform.auth.revoke(target as never), {
      code: 'ERR_CONFIG',
      message:
        'revoke(): pass one of { token }, { grant }, { user } and { client }, with a string, or { all: true }',
    });
  }
  t.is(await guard(access), 200);
});
