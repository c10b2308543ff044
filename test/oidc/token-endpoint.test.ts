import { inspect } from 'node:util';

import test from '../harness/test.ts';

import { authorize, runCodeFlow } from '../harness/platform.ts';
import { basic, postForm, postJson, send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { FORM, UNAUTHENTICATED, invalid, outline, startTokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => {
  const server = stack.use(await startTokenPlatform());
  const { platform, endpoint, app, service, publicApp, asApp, asService, good, goodForm } = server;
  return { platform, endpoint, app, service, publicApp, asApp, asService, good, goodForm };
});

function refused(error: string, error_description: string, more = {}): object {
  return { status: 400, body: { error, error_description, ...more } };
}

test('JSON and form bodies get the same responses', async (t) => {
  const { app, good, platform, asService, asApp, publicApp, endpoint } = await started();
  const issued = { access_token: 'string', expires_in: 31_536_000, token_type: 'Bearer' };
  const granted = { status: 200, body: issued };
  const grantless = refused('invalid_grant', 'grant request is invalid');
  const unauthorized = refused('unauthorized_client', 'this client may not use this grant type');
  const unsupported = refused('unsupported_grant_type', 'unsupported grant_type requested');
  const withCode = { grant_type: 'authorization_code', redirect_uri: app.redirectUri };
  const cases: [Record<string, string>, object][] = [
    [good, granted],
    [{ ...good, scope: '' }, granted],
    [
      { ...good, scope: 'schools:read' },
      { status: 200, body: { ...issued, scope: 'schools:read' } },
    ],
    [{ ...good, unknown: 'x', resource: platform.origin }, granted],
    [
      { ...good, scope: 'unknown' },
      refused('invalid_scope', 'requested scope is not allowed: unknown', { scope: 'unknown' }),
    ],
    [{ ...good, scope: 'a"b' }, refused('invalid_scope', 'scope contains invalid characters')],
    [
      { ...good, resource: 'https://evil.example/' },
      refused('invalid_target', 'resource indicator is missing, or unknown'),
    ],
    [{ ...good, client_id: 'unknown' }, UNAUTHENTICATED],
    [{ ...good, client_secret: 'wrong' }, UNAUTHENTICATED],
    [{ ...good, client_secret: '' }, UNAUTHENTICATED],
    [{ ...good, client_id: '' }, invalid('no client authentication mechanism provided')],
    [{}, invalid('no client authentication mechanism provided')],
    [asService, invalid("missing required parameter 'grant_type'")],
    [{ ...good, grant_type: '' }, invalid("missing required parameter 'grant_type'")],
    ...['password', 'implicit', 'CLIENT_CREDENTIALS', '__proto__', 'toString'].map(
      (type): [Record<string, string>, object] => [{ ...good, grant_type: type }, unsupported],
    ),
    [{ ...good, ...withCode, code: 'x' }, unauthorized],
    [{ ...good, grant_type: 'refresh_token', refresh_token: 'x' }, unauthorized],
    [{ ...asApp, grant_type: 'client_credentials' }, unauthorized],
    [{ client_id: publicApp.client.id, grant_type: 'client_credentials' }, unauthorized],
    [
      { grant_type: 'authorization_code', ...asApp },
      invalid("missing required parameters 'code' and 'redirect_uri'"),
    ],
    [{ grant_type: 'refresh_token', ...asApp }, invalid("missing required parameter 'refresh_token'")],
    [{ ...withCode, ...asApp, code: 'x' }, grantless],
    [{ grant_type: 'refresh_token', ...asApp, refresh_token: 'x' }, grantless],
    [{ ...withCode, ...asApp, code: 'ä\u0000&=+%\u{1F3EB}', redirect_uri: 'x' }, grantless],
  ];
  for (const [fields, expected] of cases) {
    const name = JSON.stringify(fields);
    t.deepEqual(outline(await postJson(endpoint, fields)), expected, name);
    t.deepEqual(outline(await postForm(endpoint, fields)), expected, name);
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

test('credentials in the URL are not read', async (t) => {
  const { endpoint, goodForm } = await started();
  const answer = await send(`${endpoint}?${goodForm}`, { method: 'POST' });
  t.deepEqual(outline(answer), invalid('no client authentication mechanism provided'));
});

test('methods other than POST get 405', async (t) => {
  const { goodForm, endpoint } = await started();
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
    const body = ['GET', 'HEAD'].includes(method) ? null : goodForm;
    const answer = await send(`${endpoint}?${goodForm}`, { method, body, headers: { 'content-type': FORM } });
    t.is(answer.status, 405, method);
    t.is(answer.headers.get('allow'), 'POST, OPTIONS', method);
    t.is(answer.headers.get('cache-control'), 'no-store', method);
    if (method === 'HEAD') continue;
    t.deepEqual(answer.body, {
      error: 'invalid_request',
      error_description: 'the token endpoint takes POST requests only',
    });
  }
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
