import { inspect } from 'node:util';

import test from '../harness/test.ts';

import { authorize, runCodeFlow } from '../harness/platform.ts';
import { basic, postForm, postJson, send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { FORM, outline, startTokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => {
  const server = stack.use(await startTokenPlatform());
  const { platform, endpoint, app, service, asApp, asService, good, goodForm } = server;
  return { platform, endpoint, app, service, asApp, asService, good, goodForm };
});

test('JSON and form bodies get the same tokens', async (t) => {
  const { good, platform, endpoint } = await started();
  const issued = { access_token: 'string', expires_in: 31_536_000, token_type: 'Bearer' };
  for (const [more, scoped] of [
    [{}, {}],
    [{ scope: '' }, {}],
    [{ scope: 'schools:read' }, { scope: 'schools:read' }],
    [{ unknown: 'x', resource: platform.origin }, {}],
  ]) {
    for (const post of [postJson, postForm]) {
      const answer = await post(endpoint, { ...good, ...more });
      t.deepEqual(outline(answer), { status: 200, body: { ...issued, ...scoped } }, JSON.stringify(more));
    }
  }
});

test('the response to a code has the members of RFC 6749 section 5.1', async (t) => {
  const { platform, app } = await started();
  for (const [scope, more] of [
    ['', {}],
    ['schools:read', { scope: 'schools:read' }],
  ] as const) {
    const { status, body, headers } = await runCodeFlow(platform, app, { parameters: { scope } });
    t.is(status, 200);
    const { access_token: access, refresh_token: refresh, ...rest } = body;
    t.deepEqual(rest, { token_type: 'Bearer', expires_in: 31_536_000, ...more });
    t.regex(access, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    t.regex(refresh, /^[\w-]{43}$/);
    t.is(headers.get('content-type'), 'application/json; charset=utf-8');
    t.is(headers.get('cache-control'), 'no-store');
  }
});

test('errors are JSON whatever the Accept header, and are not cached', async (t) => {
  const { goodForm, endpoint } = await started();
  for (const accept of ['text/html,application/xhtml+xml,*/*;q=0.8', 'image/png', '']) {
    for (const body of [goodForm, 'grant_type=x', `${goodForm}x`, '']) {
      const headers = { accept, 'content-type': FORM };
      const answer = await send(endpoint, { method: 'POST', body, headers });
      t.true([200, 400, 401].includes(answer.status));
      t.is(answer.headers.get('content-type'), 'application/json; charset=utf-8', `${accept} ${body}`);
      t.is(answer.headers.get('cache-control'), 'no-store', `${accept} ${body}`);
    }
  }
});

test('HEAD gets 405', async (t) => {
  const { goodForm, endpoint } = await started();
  const answer = await send(`${endpoint}?${goodForm}`, { method: 'HEAD' });
  t.is(answer.status, 405);
  t.is(answer.headers.get('allow'), 'POST, OPTIONS');
  t.is(answer.headers.get('cache-control'), 'no-store');
});

test('the path is matched in any case and with a trailing slash, and in no other spelling', async (t) => {
  const { platform, good } = await started();
  for (const path of ['/oauth/token', '/OAuth/Token', '/oauth/token/', '/OAUTH/TOKEN/']) {
    t.is((await postJson(platform.origin + path, good)).status, 200, path);
  }
  for (const path of [
    '/oauth/token//',
    '/oauth//token',
    '//oauth/token',
    '/oauth/%74oken',
    '/oauth/token%2f',
  ])
    t.is((await postJson(platform.origin + path, good)).status, 404, path);
});

test('errors contain no credentials', async (t) => {
  const { platform, app, endpoint, good, service, asService, asApp, goodForm } = await started();
  const { body } = await runCodeFlow(platform, app);
  const code = (await authorize(platform, app)).get('code')!;
  const wrong = 'a-secret-that-is-wrong';
  const answers = [
    await postJson(endpoint, { ...good, client_secret: wrong }),
    await postForm(endpoint, { grant_type: 'x' }, basic(service.client.id, wrong)),
    await postJson(endpoint, { ...good, grant_type: service.secret }),
    await postJson(endpoint, `{"client_secret":"${service.secret}"`),
    await postJson(endpoint, { grant_type: 'authorization_code', ...asService, code }),
    await postJson(endpoint, { grant_type: 'refresh_token', ...asApp, refresh_token: body.access_token }),
    await postForm(endpoint, goodForm, { authorization: `Bearer ${body.access_token}` }),
    await postForm(`${platform.origin}/oauth/revoke`, { ...asApp, token: 'x', client_secret: wrong }),
    await postForm(`${platform.origin}/oauth/introspect`, { token: body.refresh_token }),
  ];
  const secrets = [wrong, service.secret, app.secret, code, body.refresh_token, body.access_token];
  for (const { text, headers, status } of answers) {
    t.true(status === 400 || status === 401);
    for (const secret of secrets) t.false((text + inspect([...headers])).includes(secret));
    t.regex(text, /^\{"error":"[a-z_]+","error_description":"[\u0020\u0021\u0023-\u005b\u005d-\u007e]+"\}$/);
  }
});
