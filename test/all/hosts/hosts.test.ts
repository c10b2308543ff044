import { request as openRequest } from 'node:http';

import test from '../../harness/test.ts';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import { z } from 'zod';

import { runGrants } from '../../embedding/flows.ts';
import { Browser } from '../../harness/browser.ts';
import { authorizeUrl, gate, signIn, startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { postForm, send } from '../../harness/requests.ts';
import { asClient, clientToken } from '../../harness/tokens.ts';
import { GUARDED_ROUTE, HOST_ROUTE, HOSTS } from '../../hosts/hosts.ts';

const TOUCH = defineAction({
  gate,
  type: 'school',
  name: 'touch-action',
  level: 'instance',
  title: 'Touch a school',
  permission: 'view_schools',
  input: z.object({}),
  output: z.object({ id: z.string() }),
  run: ({ id }) => ({ id }),
});

const OPENER_POLICY = 'cross-origin-opener-policy';

for (const [name, host] of Object.entries(HOSTS)) {
  test.serial(`${name}: the grants by JSON and form, the pages and the API`, async (t) => {
    await using platform = await startPlatform({}, { app: host });
    await runGrants(t, platform, { format: 'JSON' });
    await runGrants(t, platform, { format: 'form' });

    const browser = new Browser();
    const consent = await signIn(
      browser,
      await browser.open(authorizeUrl(platform, await platform.registerApp())),
    );
    t.is(consent.status, 200);
    t.false(consent.response.headers.has(OPENER_POLICY), 'a sign-in popup keeps its opener');
    const login = await browser.get(platform.url('/oauth/login'));
    t.is(login.status, 303);
    t.false(login.response.headers.has(OPENER_POLICY));
  });

  test.serial(`${name}: its own routes, one of which needs a permission`, async (t) => {
    await using platform = await startPlatform({}, { app: host });
    const open = await send(platform.url(HOST_ROUTE));
    t.deepEqual([open.status, open.text], [200, 'open']);
    if (name === 'Express 5') t.is(open.headers.get(OPENER_POLICY), 'same-origin', 'as the host has set it');
    t.false(open.headers.has('x-request-id'));
    t.is((await send(platform.url('/host/none'))).status, 404);

    const missing = await send(platform.url(GUARDED_ROUTE));
    t.is(missing.status, 401);
    t.like(JSON.parse(missing.text), { code: 'login_required' });
    t.regex(missing.headers.get('www-authenticate') ?? '', /^Bearer realm=/);
    t.is(missing.headers.get('content-type'), 'application/problem+json; charset=utf-8');
    t.regex(missing.headers.get('vary') ?? '', /Authorization, Cookie/);
    const service = await platform.registerService(['view_schools']);
    const other = await platform.registerService(['edit_schools']);
    const allowed = await call(platform.url(GUARDED_ROUTE), await clientToken(platform, service));
    t.deepEqual([allowed.status, JSON.parse(allowed.text)], [200, { caller: service.client.id }]);
    const refused = await call(platform.url(GUARDED_ROUTE), await clientToken(platform, other));
    t.is(refused.status, 403);
    t.like(JSON.parse(refused.text), {
      code: 'missing_permission',
      message: 'Missing permission to view schools.',
      permission: 'view_schools',
    });

    // The login session of a user, on a page of the same origin.
    const browser = new Browser();
    await signIn(browser, await browser.open(platform.url('/oauth/login')));
    const own = await send(platform.url(GUARDED_ROUTE), {
      headers: { cookie: browser.cookieField, 'sec-fetch-site': 'same-origin' },
    });
    t.deepEqual([own.status, JSON.parse(own.text)], [200, { caller: '1' }]);
    t.is(own.headers.get('cache-control'), 'no-store');
  });

  test.serial(`${name}: a bulk is streamed, and warns of no listeners`, async (t) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    t.teardown(() => process.off('warning', onWarning));
    await using platform = await startPlatform(
      {},
      { app: async ({ auth }) => host({ auth, api: createApiRouter({ auth, actions: [TOUCH] }) }) },
    );
    const token = await clientToken(platform, await platform.registerService(['view_schools']));
    const { status, headers, text } = await send(platform.url('/api/v1/actions/school/touch-action/bulk'), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/x-ndjson',
      },
      body: JSON.stringify({ items: ['a', 'b', 'c'].map((id) => ({ id, input: {} })) }),
    });
    t.is(status, 200, text);
    t.regex(headers.get('content-type') ?? '', /^application\/x-ndjson/);
    t.true(text.endsWith('{"succeeded":3,"failed":0}\n'), text);
    t.is(text.match(/"output":\{"id":"[abc]"\}/g)?.length, 3, text);
    t.deepEqual(warnings, []);
  });

  test.serial(`${name}: requests that their clients give up leave nothing in the log`, async (t) => {
    await using platform = await startPlatform({}, { app: host });
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    t.teardown(() => process.off('unhandledRejection', onRejection));
    for (let round = 0; round < 25; round += 1)
      await Promise.all(
        Array.from({ length: 40 }, async (_, index) => abort(platform, GIVEN_UP[index % GIVEN_UP.length]!)),
      );
    t.is((await send(platform.url(HOST_ROUTE))).status, 200);
    await platform.auth.close();
    t.deepEqual(rejections, []);
    t.deepEqual(errorsOf(platform), []);
  });
}

const GIVEN_UP = [
  ['GET', '/oauth/authorize?client_id=none'],
  ['GET', '/oauth/login'],
  ['POST', '/oauth/token'],
  ['GET', '/api/v1/identity'],
  ['GET', HOST_ROUTE],
] as const;

function errorsOf({ logger }: Pick<Platform, 'logger'>): readonly object[] {
  return logger.lines.filter(({ level }) => level === 'error' || level === 'warn');
}

async function call(url: URL, token: string): ReturnType<typeof send> {
  return send(url, { headers: { authorization: `Bearer ${token}` } });
}

/** Sends a request, or the first half of one with a body, and closes its connection. */
async function abort(platform: Platform, [method, path]: (typeof GIVEN_UP)[number]): Promise<void> {
  return new Promise((resolve) => {
    const headers = method === 'POST' ? { 'Content-Type': 'application/json', 'Content-Length': 2 } : {};
    const sent = openRequest(platform.url(path), { method, headers, agent: false }, (response) =>
      response.resume(),
    );
    if (method === 'POST') sent.write('{');
    else sent.end();
    sent.on('error', () => {});
    sent.on('close', () => resolve());
    sent.on('socket', (socket) => socket.once('connect', () => setImmediate(() => sent.destroy())));
  });
}

test('a token request of a form that a parser of nested fields has read is refused with the reason', async (t) => {
  await using platform = await startPlatform({}, { app: HOSTS['Express 5']! });
  const service = await platform.registerService();
  const { status, body } = await postForm(platform.url('/oauth/token'), {
    grant_type: 'client_credentials',
    ...asClient(service),
    'scope[a]': 'x',
  });
  t.is(status, 400);
  t.deepEqual(body, { error: 'invalid_request', error_description: 'The parameter scope must be a string.' });
});
