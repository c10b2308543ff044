import test from '../harness/test.ts';

import { basic, postForm, postJson } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { startTokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => {
  const server = stack.use(await startTokenPlatform());
  const { platform, endpoint, service, publicApp } = server;
  return { platform, endpoint, service, publicApp };
});

test('HTTP Basic works with form and JSON, in any case and with encoded characters', async (t) => {
  const { service, endpoint } = await started();
  const grant = { grant_type: 'client_credentials' };
  const header = basic(service.client.id, service.secret);
  t.is((await postForm(endpoint, grant, header)).status, 200);
  t.is((await postJson(endpoint, grant, header)).status, 200);
  t.is((await postForm(endpoint, { ...grant, client_id: service.client.id }, header)).status, 200);
  const value = header.authorization.slice('Basic '.length);
  const encoded = `${service.client.id}:${service.secret}`.replaceAll(
    /[^:]/g,
    (c) => `%${c.charCodeAt(0).toString(16)}`,
  );
  for (const authorization of [
    `BASIC ${value}`,
    `Basic ${value.replace(/=+$/, '')}`,
    `Basic ${base64(encoded)}`,
  ])
    t.is((await postForm(endpoint, grant, { authorization })).status, 200, authorization);
});

test('HTTP Basic with an empty password is no secret, which public clients do not have', async (t) => {
  const { publicApp, endpoint, platform } = await started();
  const { id } = publicApp.client;
  const header = { authorization: `Basic ${base64(`${id}:`)}` };
  // The client is known, and its code is not.
  const grant = {
    grant_type: 'authorization_code',
    code: 'x',
    redirect_uri: publicApp.redirectUri,
    code_verifier: 'v'.repeat(43),
  };
  for (const fields of [grant, { ...grant, client_id: id }, { ...grant, client_secret: '' }])
    t.like(await postForm(endpoint, fields, header), { status: 400, body: { error: 'invalid_grant' } });
  t.like(await postJson(endpoint, grant, header), { status: 400, body: { error: 'invalid_grant' } });
  t.is((await postForm(platform.url('/oauth/revoke'), { token: 'x' }, header)).status, 200);
});

function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}
