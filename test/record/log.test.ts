import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { postForm, postJson, send } from '../harness/requests.ts';
import { breakable, pausable } from '../harness/storage.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { linesOf, outlinesOf } from './lines.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  return { platform };
});

const UUID = /^[\da-f-]{36}$/;

// The tests share the log of one platform.
const { serial } = test;

serial('an issued token is one line, with the duration', async (t) => {
  const { platform } = await started();
  const service = await platform.registerService();
  const lines = await linesOf(platform, async () => requestClientToken(platform, service));
  t.is(lines.length, 1);
  const { duration_ms: duration, request_id: id, ...line } = lines[0]!;
  t.deepEqual(line, {
    level: 'info',
    message: 'token issued',
    endpoint: 'token',
    outcome: 'issued',
    client_id: service.client.id,
    grant_type: 'client_credentials',
    status: 200,
  });
  t.regex(String(id), UUID);
  t.true(Number(duration) > 0 && Number(duration) < 10_000, String(duration));
});

serial('a token of a user and each refresh are one line', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const code = (await authorize(platform, app)).get('code');
  const issued = {
    level: 'info',
    message: 'token issued',
    endpoint: 'token',
    outcome: 'issued',
    status: 200,
  };
  let refreshToken = '';
  const lines = await outlinesOf(platform, async () => {
    refreshToken = (await exchangeCode(platform, app, code)).body.refresh_token;
    await exchangeRefreshToken(platform, app, refreshToken);
  });
  t.deepEqual(
    lines,
    ['authorization_code', 'refresh_token'].map((grant_type) =>
      Object.assign({ client_id: app.client.id, grant_type }, issued),
    ),
  );
});

const REFUSED = { level: 'info', message: 'token refused', endpoint: 'token', outcome: 'refused' };

serial('a refused token request is one line, with the reason that the client does not get', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, await platform.registerApp({ firstParty: true }));
  const disabled = await platform.registerService();
  await platform.auth.clients.disable(disabled.client.id);
  const ofApp = { client_id: app.client.id };
  const [refresh, credentials] = [{ grant_type: 'refresh_token' }, { grant_type: 'client_credentials' }];
  for (const [parameters, status, error, reason, known] of [
    [
      { ...refresh, ...ofApp, client_secret: 'wrong', refresh_token: 'x' },
      401,
      'invalid_client',
      'invalid secret provided',
      { ...ofApp, ...refresh },
    ],
    [
      { ...refresh, ...asClient(app), refresh_token: body.refresh_token },
      400,
      'invalid_grant',
      'client mismatch',
      { ...ofApp, ...refresh },
    ],
    [
      { grant_type: 'password', ...asClient(app) },
      400,
      'unsupported_grant_type',
      'unsupported grant_type requested',
      ofApp,
    ],
    [
      { ...credentials, ...asClient(disabled) },
      401,
      'invalid_client',
      'the app is disabled',
      { client_id: disabled.client.id, ...credentials },
    ],
    [
      { ...credentials, client_id: 'unknown', client_secret: 'x' },
      401,
      'invalid_client',
      'client not found',
      credentials,
    ],
  ] as const) {
    const lines = await outlinesOf(platform, async () => platform.token(parameters));
    t.deepEqual(lines, [{ ...REFUSED, ...known, status, error, reason }]);
  }
});

serial('a request refused before its parameters are read is one line', async (t) => {
  const { platform } = await started();
  const url = platform.url('/oauth/token');
  const cases: [status: number, reason: RegExp, ask: () => Promise<unknown>][] = [
    [405, /takes POST requests only/, () => send(url)],
    [400, /not valid JSON/, () => postJson(url, '{"client_secret":"half a')],
    [400, /The parameter client_id must be a string/, () => postJson(url, { client_id: {} })],
    [400, /larger than/, () => postForm(url, { code: 'x'.repeat(60_000) })],
  ];
  for (const [status, reason, ask] of cases) {
    const [line, ...more] = await outlinesOf(platform, ask);
    t.deepEqual(more, []);
    t.like(line, { level: 'info', message: 'token refused', outcome: 'refused', status });
    t.regex(String(line?.['reason']), reason);
  }
  t.deepEqual(await outlinesOf(platform, async () => send(url, { method: 'OPTIONS' })), [], 'a preflight');
});

serial('a code that is redeemed again is a warning that names the revoked grant', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const code = (await authorize(platform, app)).get('code');
  const { body } = await exchangeCode(platform, app, code);
  const lines = await outlinesOf(platform, async () => exchangeCode(platform, app, code));
  t.deepEqual(lines, [
    {
      ...REFUSED,
      level: 'warn',
      client_id: app.client.id,
      grant_type: 'authorization_code',
      status: 400,
      error: 'invalid_grant',
      reason: 'authorization code already used',
      revoked_grant_id: decodeJwt(body.access_token)['grant_id'],
    },
  ]);
});

serial('a revocation is an info line, an introspection a debug line', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, app);
  const line = { client_id: app.client.id, outcome: 'answered', status: 200 };
  const post = (path: string, fields: Record<string, string>) => async () =>
    postForm(platform.url(path), { ...asClient(app), ...fields });
  t.deepEqual(await outlinesOf(platform, post('/oauth/introspect', { token: body.access_token })), [
    { level: 'debug', message: 'introspection answered', endpoint: 'introspection', ...line },
  ]);
  t.deepEqual(await outlinesOf(platform, post('/oauth/revoke', { token: body.refresh_token })), [
    {
      level: 'info',
      message: 'revocation answered',
      endpoint: 'revocation',
      ...line,
      revoked_grant_id: decodeJwt(body.access_token)['grant_id'],
    },
  ]);
  for (const [endpoint, path] of [
    ['introspection', '/oauth/introspect'],
    ['revocation', '/oauth/revoke'],
  ] as const) {
    t.deepEqual(await outlinesOf(platform, post(path, { client_secret: 'wrong', token: 'x' })), [
      {
        level: 'info',
        message: `${endpoint} refused`,
        endpoint,
        outcome: 'refused',
        client_id: app.client.id,
        status: 401,
        error: 'invalid_client',
        reason: 'invalid secret provided',
      },
    ]);
  }
});

serial('a refused authorization is one line, a successful one is none', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  t.deepEqual(await outlinesOf(platform, async () => browser.open(authorizeUrl(platform, app))), []);
  const refused = {
    level: 'info',
    message: 'authorization refused',
    endpoint: 'authorization',
    outcome: 'refused',
  };
  const [line, ...more] = await outlinesOf(platform, async () =>
    browser.get(authorizeUrl(platform, app, { prompt: 'none' })),
  );
  t.deepEqual(more, []);
  t.like(line, { ...refused, client_id: app.client.id, error: 'login_required' });
  const [foreign] = await outlinesOf(platform, async () =>
    browser.get(authorizeUrl(platform, app, { redirect_uri: 'https://evil.example/' })),
  );
  t.like(foreign, { ...refused, client_id: app.client.id, status: 400, error: 'invalid_redirect_uri' });
});

serial("a login, a failed login and a logout are one line each, with the user's id", async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  const here = { address: '127.0.0.1' };
  t.deepEqual(await outlinesOf(platform, async () => signIn(browser, login, 'correct horse', 'oops')), [
    { level: 'info', message: 'login failed', outcome: 'refused', client_id: app.client.id, ...here },
  ]);
  t.deepEqual(await outlinesOf(platform, async () => signIn(browser, login)), [
    { level: 'info', message: 'login', user_id: '1', client_id: app.client.id, ...here },
  ]);
  const [line] = await linesOf(platform, async () =>
    browser.post(platform.url('/oauth/logout'), new URLSearchParams()),
  );
  t.like(line, { level: 'info', message: 'logout', user_id: '1' });
  t.regex(String(line?.['request_id']), UUID);
});

test('a 500 is one error line with the error', async (t) => {
  const failure = new Error('the disk is full');
  const { broken, storage } = breakable(memoryStorage(), failure);
  await using own = await startPlatform({ storage });
  broken.add('clients.find');
  const parameters = { grant_type: 'client_credentials', client_id: 'y', client_secret: 'z' };
  t.deepEqual(await outlinesOf(own, async () => own.token(parameters)), [
    {
      level: 'error',
      message: 'request failed',
      endpoint: 'token',
      outcome: 'failed',
      grant_type: 'client_credentials',
      status: 500,
      error: 'server_error',
      err: failure,
    },
  ]);
});

test('a token request above the concurrency limit is one line', async (t) => {
  const { pause, storage } = pausable(memoryStorage());
  await using own = await startPlatform({ storage, limits: { concurrency: 1 } });
  const parameters = { grant_type: 'client_credentials', client_id: 'y', client_secret: 'z' };
  const running = pause('clients.find');
  const first = own.token(parameters);
  await running.reached;
  const lines = await outlinesOf(own, async () => own.token(parameters));
  running.resume();
  await first;
  t.deepEqual(lines, [
    {
      ...REFUSED,
      status: 503,
      error: 'temporarily_unavailable',
      reason: 'the server has too many requests at the moment; try again later',
    },
  ]);
});
