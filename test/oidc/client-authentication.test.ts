import test from '../harness/test.ts';

import { basic, postForm, postJson } from '../harness/requests.ts';
import { altered } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { UNAUTHENTICATED, invalid, outline, startTokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => {
  const server = stack.use(await startTokenPlatform());
  const { platform, endpoint, app, other, service, publicApp, disabled, good } = server;
  return { platform, endpoint, app, other, service, publicApp, disabled, good };
});

test('each failed client authentication gets the same response', async (t) => {
  const { service, disabled, publicApp, other, endpoint } = await started();
  const { secret } = service;
  const tries: Record<string, string>[] = [
    { client_id: 'unknown', client_secret: secret },
    { client_id: service.client.id.toUpperCase(), client_secret: secret },
    { client_id: disabled.client.id, client_secret: disabled.secret },
    { client_id: publicApp.client.id, client_secret: secret },
    { client_id: service.client.id },
    ...[
      'wrong',
      altered(secret),
      secret.toUpperCase(),
      secret.slice(1),
      secret.slice(0, -1),
      `${secret}\u0000`,
      `${secret} `,
      other.secret,
      'x'.repeat(10_000),
    ].map((wrong) => ({ client_id: service.client.id, client_secret: wrong })),
  ];
  for (const fields of tries) {
    for (const post of [postJson, postForm]) {
      const answer = await post(endpoint, { grant_type: 'client_credentials', ...fields });
      t.deepEqual(outline(answer), UNAUTHENTICATED, JSON.stringify(fields));
      t.is(answer.headers.get('www-authenticate'), null);
    }
  }
});

test('each failed authentication by HTTP Basic gets the same challenge', async (t) => {
  const { service, disabled, publicApp, endpoint, platform } = await started();
  const grant = { grant_type: 'client_credentials' };
  for (const [id, secret] of [
    ['unknown', service.secret],
    [service.client.id, 'wrong'],
    [disabled.client.id, disabled.secret],
    [publicApp.client.id, 'x'],
  ] as const) {
    const answer = await postForm(endpoint, grant, basic(id, secret));
    t.deepEqual(outline(answer), UNAUTHENTICATED, `${id} ${secret}`);
    t.is(
      answer.headers.get('www-authenticate'),
      `Basic realm="${platform.origin}", error="invalid_client", error_description="client authentication failed"`,
    );
  }
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
  const { publicApp, endpoint, platform, service } = await started();
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
  t.like(await postForm(endpoint, { ...grant, client_id: service.client.id }, header), {
    status: 400,
    body: { error_description: "'client_id' parameter must not be provided twice" },
  });
  for (const client of [service.client.id, 'unknown']) {
    const answer = await postForm(endpoint, { grant_type: 'client_credentials' }, basic(client, ''));
    t.deepEqual(outline(answer), UNAUTHENTICATED);
    t.is(
      answer.headers.get('www-authenticate'),
      `Basic realm="${platform.origin}", error="invalid_client", error_description="client authentication failed"`,
    );
  }
});

test('a malformed Authorization header is refused', async (t) => {
  const { service, endpoint } = await started();
  const grant = { grant_type: 'client_credentials' };
  const { id } = service.client;
  for (const authorization of [
    'Basic',
    'Basic !',
    `Basic ${base64('no colon')}`,
    `Basic ${base64(':')}`,
    `Basic ${base64(`:${service.secret}`)}`,
    `Basic ${base64(`${id}:%zz`)}`,
    `Basic ${base64(`${id}:${service.secret}\u0000`)}`,
    `Basic ${base64(`${id}:${service.secret}`)} x`,
    `Basic ${base64('x'.repeat(8000))}`,
    'Bearer x',
    'Digest x',
    'x',
    base64(`${id}:${service.secret}`),
  ]) {
    const { body, status } = await postForm(endpoint, grant, { authorization });
    t.deepEqual([status, body?.['error']], [400, 'invalid_request'], authorization);
  }
});

test('two client authentications in one request are refused', async (t) => {
  const { service, endpoint, good, app } = await started();
  const header = basic(service.client.id, service.secret);
  for (const post of [postForm, postJson]) {
    t.deepEqual(
      outline(await post(endpoint, good, header)),
      invalid('client authentication must only be provided using one mechanism'),
    );
    t.deepEqual(
      outline(await post(endpoint, { grant_type: 'client_credentials', client_id: app.client.id }, header)),
      invalid('client_id mismatch'),
    );
  }
});

function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}
