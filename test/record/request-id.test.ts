import test from '../harness/test.ts';
import { requestIdOf } from 'koa-gatehouse';
import type { AuditRecord } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Context, Middleware } from 'koa';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { breakable } from '../harness/storage.ts';
import { asClient, clientToken, requestClientToken } from '../harness/tokens.ts';
import { linesOf } from './lines.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** An app with middleware before the platform. */
const behind = (inFront: Middleware, proxy = false): Mounting => ({
  koa: { proxy },
  before: [inFront],
  routes: (api) =>
    api.get('/request', (ctx) => {
      ctx.body = { id: requestIdOf(ctx) };
    }),
});

const nothing: Middleware = async (_ctx, next) => next();

/** The id in the response and the log of a token request with header fields. */
async function idOfToken(platform: Platform, headers: Record<string, string> = {}): Promise<string | null> {
  let id: string | null = null;
  const [line, ...more] = await linesOf(platform, async () => {
    const answer = await postForm(
      platform.url('/oauth/token'),
      { grant_type: 'client_credentials' },
      headers,
    );
    id = answer.headers.get('x-request-id');
  });
  return line?.['request_id'] === id && more.length === 0 ? id : null;
}

test('endpoints, pages and the API respond with an id of each request', async (t) => {
  await using platform = await startPlatform();
  const app = await platform.registerApp();
  const service = await platform.registerService();
  const browser = new Browser();
  const authorization = await browser.get(authorizeUrl(platform, app));
  const login = await browser.get(authorization.location!);
  const { body } = await requestClientToken(platform, service);
  const answers = [
    authorization.response.headers,
    login.response.headers,
    (await requestClientToken(platform, service)).headers,
    (await platform.token({ grant_type: 'password' })).headers,
    (await send(platform.url('/oauth/token'))).headers,
    (await send(platform.url('/oauth/jwks'))).headers,
    (await send(platform.url('/.well-known/oauth-authorization-server'))).headers,
    (await postForm(platform.url('/oauth/revoke'), { ...asClient(app), token: 'x' })).headers,
    (await postForm(platform.url('/oauth/introspect'), { ...asClient(app), token: 'x' })).headers,
    (await send(platform.url('/account/apps'))).headers,
    (await platform.api('/identity', body.access_token)).headers,
    (await platform.api('/identity')).headers,
    (await platform.api('/nothing', body.access_token)).headers,
  ];
  const ids = answers.map((headers) => headers.get('x-request-id') ?? '');
  for (const [index, id] of ids.entries()) t.regex(id, UUID, String(index));
  t.is(new Set(ids).size, ids.length);
});

test('the host’s id is used: ctx.state.requestId, or X-Request-Id set on the response; an unsafe one is replaced', async (t) => {
  let identify: ((ctx: Context) => void) | undefined;
  const inFront: Middleware = async (ctx, next) => {
    identify?.(ctx);
    await next();
  };
  await using platform = await startPlatform({}, behind(inFront));
  for (const byHost of [
    (ctx: Context) => void (ctx.state['requestId'] = 'host-1'),
    (ctx: Context) => ctx.set('X-Request-Id', 'host-1'),
  ]) {
    identify = byHost;
    t.is(await idOfToken(platform), 'host-1');
    t.is((await platform.api('/identity')).headers.get('x-request-id'), 'host-1');
  }
  const unsafe = [
    'two\nlines',
    '\u001B[31mred',
    'a b',
    '<b>',
    '',
    'x'.repeat(129),
    7,
    { toString: () => 'x' },
  ];
  for (const id of unsafe) {
    identify = (ctx) => void (ctx.state['requestId'] = id);
    t.regex(String(await idOfToken(platform)), UUID, String(id));
  }
});

test('X-Request-Id of a request is used only with app.proxy', async (t) => {
  const given = '7f3a0c52d1e94b6f8a2b';
  await using open = await startPlatform({}, behind(nothing));
  await using proxied = await startPlatform({}, behind(nothing, true));
  await using alone = await startPlatform({ trustProxy: true }, { app: ({ auth }) => auth.callback() });
  t.regex(String(await idOfToken(open, { 'x-request-id': given })), UUID);
  t.is(await idOfToken(proxied, { 'x-request-id': given }), given);
  t.is(await idOfToken(alone, { 'x-request-id': given }), given);
  const uuid = '0B7C1A44-9D2E-4F0A-8C3B-5E6F7A8B9C0D';
  t.is(await idOfToken(proxied, { 'x-request-id': uuid }), uuid);
  // Many proxies forward what a client sends.
  const { secret } = await proxied.registerApp();
  const odd = [secret, 'correct horse', '7', 'a'.repeat(65), `${given}, ${given}`, 'eyJhbGciOi.e30.AA'];
  for (const id of odd) t.regex(String(await idOfToken(proxied, { 'x-request-id': id })), UUID, id);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  t.regex(String(await idOfToken(proxied, { traceparent })), UUID, 'a trace contains several requests');
  // A route can read it.
  const token = await clientToken(open, await open.registerService());
  const answer = await open.api('/request', token);
  t.regex(String(answer.body['id']), UUID);
  t.is(answer.headers.get('x-request-id'), answer.body['id'] as string);
});

test('a page, a problem, the log and the audit record of a failed request have the same id', async (t) => {
  const { broken, storage } = breakable(memoryStorage(), new Error('the disk is full'));
  await using platform = await startPlatform({ storage });
  const app = await platform.registerApp();
  const service = await platform.registerService();
  const { body } = await requestClientToken(platform, service);
  const received: AuditRecord[] = [];
  platform.auth.events.on('*', (record) => received.push(record));
  broken.add('clients.find').add('revocations.isValid');

  const [ofPage] = await linesOf(platform, async () => {
    const page = await new Browser().open(
      authorizeUrl(platform, { ...app, client: { ...app.client, id: 'x' } }),
    );
    t.is(page.status, 500);
    t.true(page.text.includes(page.response.headers.get('x-request-id')!));
  });
  t.like(ofPage, { level: 'error', message: 'request failed' });

  const [ofToken, ...more] = await linesOf(platform, async () => {
    const answer = await platform.token({
      grant_type: 'client_credentials',
      client_id: 'y',
      client_secret: 'z',
    });
    t.is(answer.status, 500);
    t.is(received.at(-1)?.requestId, answer.headers.get('x-request-id')!);
  });
  t.deepEqual(more, []);
  t.like(ofToken, { level: 'error', message: 'request failed', request_id: received.at(-1)?.requestId });

  let reference = '';
  const [ofApi] = await linesOf(platform, async () => {
    const answer = await platform.api('/identity', body.access_token);
    t.is(answer.status, 500);
    reference = String(answer.body['reference']);
    t.is(answer.headers.get('x-request-id'), reference);
  });
  t.like(ofApi, { level: 'error', message: 'api request failed', request_id: reference });
});

test('audit records of logins and of changes have the id', async (t) => {
  await using platform = await startPlatform();
  const app = await platform.registerApp();
  const received: AuditRecord[] = [];
  platform.auth.events.on('*', (record) => received.push(record));
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  for (const [password, type] of [
    ['wrong', 'login_failed'],
    ['correct horse', 'login'],
  ] as const) {
    const { response } = await browser.submit(login, 'Sign in', { login: 'ann@school.example', password });
    t.like(received.at(-1), { type, requestId: response.headers.get('x-request-id')! });
  }
  const [kept] = await platform.auth.audit.list({ types: ['login'] });
  t.is(kept?.requestId, received.at(-1)?.requestId);
});
