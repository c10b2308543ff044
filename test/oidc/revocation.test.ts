import { decodeJwt } from 'jose';
import test from '../harness/test.ts';

import { authorize, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { basic, postForm, postJson } from '../harness/requests.ts';
import { asClient, clientToken, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { familiesOf } from './families.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const app = await platform.registerApp({ firstParty: true });
  const other = await platform.registerApp({ name: 'Other', firstParty: true });
  const publicApp = await platform.registerApp({ name: 'Public', firstParty: true, confidential: false });
  const REVOKE = `${platform.origin}/oauth/revoke`;
  const { family, serviceToken, guard, canRefresh } = familiesOf(platform, app);
  return { platform, app, other, publicApp, REVOKE, family, serviceToken, guard, canRefresh };
});

async function revoke(token: string, by?: RegisteredApp, more: Record<string, string> = {}): Promise<void> {
  const { app, REVOKE } = await started();
  const { status, text } = await postForm(REVOKE, { ...asClient(by ?? app), token, ...more });
  if (status !== 200 || text !== '{}') throw new Error(`${status} ${text}`);
}

test('revoking an access token revokes no other token', async (t) => {
  const { family, guard, canRefresh, serviceToken, platform } = await started();
  const { access, refresh } = await family();
  t.is(await guard(access), 200);
  await revoke(access);
  t.is(await guard(access), 'token_revoked');
  t.true(await canRefresh(refresh));
  const { service, token } = await serviceToken();
  const second = await clientToken(platform, service);
  await revoke(token, service);
  t.deepEqual([await guard(token), await guard(second)], ['token_revoked', 200]);
});

test('revoking a refresh token revokes its family', async (t) => {
  const { family, guard, platform, app, canRefresh } = await started();
  for (const isUsed of [false, true]) {
    const { access, refresh } = await family();
    const another = await family();
    t.is(await guard(access), 200);
    const current = isUsed ? (await exchangeRefreshToken(platform, app, refresh)).body : undefined;
    await revoke(refresh);
    t.is(await guard(access), 'token_revoked');
    t.false(await canRefresh(refresh));
    if (current) {
      t.is(await guard(current.access_token), 'token_revoked');
      t.false(await canRefresh(current.refresh_token));
    }
    t.is(await guard(another.access), 200, 'other families still work');
    t.true(await canRefresh(another.refresh));
  }
});

test('a token is found with a wrong token_type_hint too', async (t) => {
  const { serviceToken, guard, family, app, canRefresh } = await started();
  const { service, token } = await serviceToken();
  await revoke(token, service, { token_type_hint: 'refresh_token' });
  t.is(await guard(token), 'token_revoked');
  for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense', '']) {
    const { access, refresh } = await family();
    await revoke(access, app, { token_type_hint });
    t.is(await guard(access), 'token_revoked', token_type_hint);
    await revoke(refresh, app, { token_type_hint });
    t.false(await canRefresh(refresh), token_type_hint);
  }
});

test('a token of another client is not revoked, with the same response', async (t) => {
  const { family, serviceToken, other, publicApp, guard, canRefresh } = await started();
  const { access, refresh } = await family();
  const { token } = await serviceToken();
  for (const by of [other, publicApp]) {
    for (const foreign of [access, refresh, token]) await revoke(foreign, by);
  }
  t.is(await guard(access), 200);
  t.is(await guard(token), 200);
  t.true(await canRefresh(refresh));
});

test('an unknown token gets the same response', async (t) => {
  const { family, platform, app, guard } = await started();
  const { access } = await family();
  const [head, payload] = access.split('.');
  const { jti, grant_id: grantId } = decodeJwt(access);
  const code = (await authorize(platform, app)).get('code')!;
  for (const token of [
    'nonsense',
    `${head}.${payload}.AAAA`,
    `${head}.${payload}.`,
    '..',
    'a.b.c',
    'eyJhbGciOiJub25lIn0.e30.',
    'x'.repeat(20_000),
    '\u0000',
    jti!,
    grantId as string,
    code,
    app.secret,
  ]) {
    await revoke(token);
  }
  t.is(await guard(access), 200, 'neither its jti nor its grant_id revokes it');
});

test('the endpoint takes JSON, and credentials by HTTP Basic', async (t) => {
  const { family, app, REVOKE, guard } = await started();
  const { access } = await family();
  t.is((await postJson(REVOKE, { token: access }, basic(app.client.id, app.secret))).status, 200);
  t.is(await guard(access), 'token_revoked');
});

test('a public client can revoke its own tokens', async (t) => {
  const { platform, publicApp, guard, canRefresh } = await started();
  const { verifier, parameters } = pkce();
  const callback = await authorize(platform, publicApp, { parameters });
  const { body } = await exchangeCode(platform, publicApp, callback.get('code'), { code_verifier: verifier });
  t.is(await guard(body.access_token), 200);
  await revoke(body.refresh_token, publicApp);
  t.is(await guard(body.access_token), 'token_revoked');
  t.false(await canRefresh(body.refresh_token, publicApp));
});
