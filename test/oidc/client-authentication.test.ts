import test from 'ava';

import { basic, postForm, postJson } from '../harness/requests.ts';
import { UNAUTHENTICATED, invalid, outline, startTokenPlatform } from './token-platform.ts';

const server = await startTokenPlatform();
const { platform, endpoint, app, other, service, publicApp, disabled, good } = server;
test.after.always(() => server[Symbol.asyncDispose]());

test('each failed client authentication gets the same response', async (t) => {
  const { secret } = service;
  const changed = secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A');
  const swapped = secret.replaceAll(/[a-z]|[A-Z]/g, (c) =>
    /[a-z]/.test(c) ? c.toUpperCase() : c.toLowerCase(),
  );
  const tries: Record<string, string>[] = [
    { client_id: 'unknown', client_secret: secret },
    { client_id: service.client.id.toUpperCase(), client_secret: secret },
    { client_id: `${service.client.id} `, client_secret: secret },
    { client_id: disabled.client.id, client_secret: disabled.secret },
    { client_id: service.client.id },
    ...[
      'wrong',
      changed,
      swapped,
      secret.slice(1),
      secret.slice(0, -1),
      `${secret}\u0000`,
      `${secret}\u0000\u0000`,
      `\u0000${secret}`,
      `${secret} `,
      ` ${secret}`,
      `${secret}${secret}`,
      other.secret,
      'gatehouse_secret_',
      'null',
      'x'.repeat(10_000),
    ].map((wrong) => ({ client_id: service.client.id, client_secret: wrong })),
    { client_id: publicApp.client.id, client_secret: secret },
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
  const grant = { grant_type: 'client_credentials' };
  const answers = [];
  for (const [id, secret] of [
    ['unknown', service.secret],
    [service.client.id, 'wrong'],
    [service.client.id, `${service.secret}x`],
    [service.client.id, other.secret],
    [disabled.client.id, disabled.secret],
    [publicApp.client.id, 'x'],
  ] as const) {
    const answer = await postForm(endpoint, grant, basic(id, secret));
    t.deepEqual(outline(answer), UNAUTHENTICATED, `${id} ${secret}`);
    answers.push(answer.headers.get('www-authenticate'));
  }
  t.is(new Set(answers).size, 1);
  t.is(
    answers[0],
    `Basic realm="${platform.origin}", error="invalid_client", error_description="client authentication failed"`,
  );
});

test('HTTP Basic works with form and JSON, in any case and with encoded characters', async (t) => {
  const grant = { grant_type: 'client_credentials' };
  const header = basic(service.client.id, service.secret);
  t.is((await postForm(endpoint, grant, header)).status, 200);
  t.is((await postJson(endpoint, grant, header)).status, 200);
  t.is((await postForm(endpoint, { ...grant, client_id: service.client.id }, header)).status, 200);
  const value = header.authorization.slice('Basic '.length);
  for (const authorization of [`basic ${value}`, `BASIC ${value}`, `Basic ${value.replace(/=+$/, '')}`]) {
    t.is((await postForm(endpoint, grant, { authorization })).status, 200, authorization);
  }
  const encoded = `${service.client.id}:${service.secret}`.replaceAll(
    /[^:]/g,
    (c) => `%${c.charCodeAt(0).toString(16)}`,
  );
  const authorization = `Basic ${Buffer.from(encoded).toString('base64')}`;
  t.is((await postForm(endpoint, grant, { authorization })).status, 200);
});

test('a malformed Authorization header is refused', async (t) => {
  const grant = { grant_type: 'client_credentials' };
  const { id } = service.client;
  for (const authorization of [
    'Basic',
    'Basic ',
    'Basic  ',
    'Basic !',
    `Basic ${base64('no colon')}`,
    `Basic ${base64(':')}`,
    `Basic ${base64(`${id}:`)}`,
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
    const answer = await postForm(endpoint, grant, { authorization });
    t.is(answer.status, 400, authorization);
    t.is(answer.body?.['error'], 'invalid_request', authorization);
  }
});

test('two client authentications in one request are refused', async (t) => {
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

test('the right secret works after failed authentications', async (t) => {
  for (let count = 0; count < 30; count += 1) {
    await postForm(endpoint, { ...good, client_secret: 'wrong' });
  }
  t.is((await postForm(endpoint, good)).status, 200);
});

test('a secret works until it is deleted, also beside a new one', async (t) => {
  const { client, secret } = await platform.registerService();
  const { clients } = platform.auth;
  const tokenWith = async (value: string): Promise<number> => {
    const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: value };
    return (await postJson(endpoint, fields)).status;
  };
  const second = await clients.addSecret(client.id, { label: 'May' });
  t.deepEqual([await tokenWith(secret), await tokenWith(second.value)], [200, 200]);
  const first = (await clients.secrets(client.id)).find(({ label }) => label === 'first')!;
  await clients.deleteSecret(client.id, first.id);
  t.deepEqual([await tokenWith(secret), await tokenWith(second.value)], [401, 200]);
  const third = await clients.rotateSecret(client.id);
  t.deepEqual([await tokenWith(second.value), await tokenWith(third.value)], [401, 200]);
  await clients.delete(client.id);
  t.is(await tokenWith(third.value), 401);
});

function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}
