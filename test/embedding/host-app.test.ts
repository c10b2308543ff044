import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { bodyParser } from '@koa/bodyparser';
import test from '../harness/test.ts';
import type { Middleware } from 'koa';
import { koaBody } from 'koa-body';

import { Browser } from '../harness/browser.ts';
import type { Cookie } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm, postJson, send } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { askToken, FORMATS, runGrants } from './flows.ts';
import { hostApp } from './host.ts';
import type { HostOptions, Report } from './host.ts';

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const keys = ['a key of the host'];
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({}, { app: hostApp({ keys }) }));
  return { platform };
});

const parsers: Record<string, HostOptions> = {
  'no body parser': {},
  'no body parser, and no keys of the host': { keys: undefined },
  '@koa/bodyparser in front': { front: [bodyParser()] },
  '@koa/bodyparser behind': { behind: [bodyParser()] },
  '@koa/bodyparser for JSON only in front': { front: [bodyParser({ enableTypes: ['json'] })] },
  '@koa/bodyparser for forms only in front': { front: [bodyParser({ enableTypes: ['form'] })] },
  'koa-body with multipart in front': { front: [koaBody({ multipart: true })] },
  'koa-body on the Node request too, in front': { front: [koaBody({ patchNode: true })] },
  'two parsers in front': { front: [koaBody(), bodyParser()] },
};

const broken: readonly [name: string, type: string, body: string][] = [
  ['malformed JSON', JSON_TYPE, '{"grant_type":'],
  ['an array', JSON_TYPE, '[]'],
  ['a nested value', JSON_TYPE, '{"grant_type":{"a":1}}'],
  ['null', JSON_TYPE, 'null'],
  ['a list', JSON_TYPE, '{"grant_type":["client_credentials"]}'],
  ['a nested form', FORM, 'grant_type[a]=client_credentials'],
  ['a repeated field', FORM, 'grant_type=a&grant_type=b'],
  ['a megabyte of JSON', JSON_TYPE, JSON.stringify({ grant_type: 'x'.repeat(1_000_000) })],
  ['a megabyte of form', FORM, `grant_type=${'x'.repeat(1_000_000)}`],
];

for (const [place, options] of Object.entries(parsers)) {
  test(`all grants, by JSON and by form, and no other body: ${place}`, async (t) => {
    await using own = await startPlatform({}, { app: hostApp({ keys, ...options }) });
    const browser = new Browser();
    t.is((await reportOf(own, browser)).views, 1);
    for (const format of FORMATS) await runGrants(t, own, { format, browser });
    t.like(await reportOf(own, browser), {
      // The session of the host is the same as before.
      views: 2,
      signature: 'of the host',
      state: { visitor: 'a user of the host' },
    });

    const parameters = { grant_type: 'client_credentials', ...asClient(await own.registerService()) };
    const good = new URLSearchParams(parameters).toString();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    for (const [name, type, body] of broken) {
      const refused = await sendBy(agent, own, type, body);
      // If a parser of the host fails, the host answers.
      t.true([400, 413].includes(refused.status), `${name}: ${refused.status} ${refused.body}`);
      t.regex(refused.body, /^\{"(host_)?error":/, name);
      // The connection can be used afterwards.
      t.is((await sendBy(agent, own, FORM, good)).status, 200, `after ${name}`);
    }
  });
}

async function sendBy(
  agent: Agent,
  { origin }: Platform,
  type: string,
  body: string,
): Promise<{ status: number; body: string }> {
  const headers = { 'content-type': type };
  const sent = request(`${origin}/oauth/token`, { method: 'POST', agent, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

test('the cookies of the host and of the server do not change each other', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  await reportOf(platform, browser);
  const before = browser.cookies;
  await authorize(platform, await platform.registerApp(), { browser });
  for (const cookie of before) t.deepEqual(cookieNamed(browser, cookie.name), cookie);
  for (const cookie of browser.cookies.filter(({ name }) => !before.some((one) => one.name === name))) {
    t.like(cookie, { httpOnly: true, sameSite: 'lax', secure: false });
    t.regex(
      `${cookie.name} ${cookie.path}`,
      /^gatehouse_((session_\d+(\.sig)?|device_\d+) \/|interaction(\.sig)? \/oauth\/interaction\/[\w-]+)$/,
    );
  }
});

function cookieNamed({ cookies }: Browser, wanted: string): Cookie | undefined {
  return cookies.find(({ name }) => name === wanted);
}

test('the host answers other requests as if the server were not mounted', async (t) => {
  const options = { keys, front: [bodyParser()] };
  await using mounted = await startPlatform({}, { app: hostApp(options) });
  await using without = await startPlatform({}, { app: hostApp({ ...options, mounted: false }) });
  const headers = { 'content-type': JSON_TYPE };
  const requests: [string, RequestInit?][] = [
    ['/report?a=1&b=%2F'],
    ['/oauth/custom?a=1&a=2'],
    ['/oauth/custom', { method: 'DELETE' }],
    ['/OAuth/custom', { method: 'OPTIONS' }],
    ['/oauth/token/extra', { method: 'POST', body: '{"grant_type":"mine"}', headers }],
    ['/oauth/token/extra?x=%20', { method: 'POST', body: new URLSearchParams({ grant_type: 'mine' }) }],
    ['/oauth/token/extra', { method: 'POST', body: '["an array"]', headers }],
    ['/oauth/interaction'],
    ['/.well-known/security.txt'],
    ['/oauth/nope'],
    ['/oauth/interactions/x'],
    ['/.well-known/nope'],
    ['/oauth/'],
    ['//oauth/custom'],
    ['/boom'],
  ];
  for (const [path, init] of requests) {
    const [one, other] = await Promise.all(
      [mounted, without].map(({ origin }) => answer(origin + path, init)),
    );
    t.deepEqual(one, other, `${init?.method ?? 'GET'} ${path}`);
  }
});

async function answer(url: string, init?: RequestInit): Promise<object> {
  const { body, headers, status, text: written } = await send(url, init);
  const { date: _, 'x-response-time': _time, 'set-cookie': cookies, ...fields } = Object.fromEntries(headers);
  const names = cookies?.match(/[\w.]+(?==)/g)?.filter((name) => !['path', 'expires'].includes(name));
  return { status, fields, names, body: body ?? written };
}

test("middleware of the host runs for the server's requests", async (t) => {
  const { platform } = await started();
  const parameters = { grant_type: 'client_credentials', ...asClient(await platform.registerService()) };
  const { headers } = await askToken(platform, 'form', parameters);
  t.regex(headers.get('x-response-time') ?? '', /^\d+ms$/);
  t.is(headers.get('x-logged'), 'POST /oauth/token 200');
  const refused = await send(platform.url('/oauth/authorize?client_id=unknown'));
  t.is(refused.headers.get('x-logged'), 'GET /oauth/authorize 400');
});

test("the host's session and cookies work in a request that the server has passed on", async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  for (const views of [1, 2, 3]) t.is((await reportOf(platform, browser, '/oauth/custom')).views, views);
  t.is((await reportOf(platform, browser, '/oauth/custom')).signature, 'of the host');
});

test('ctx.state of the host is available in currentUser', async (t) => {
  const seen: unknown[] = [];
  await using own = await startPlatform(
    {
      login: {
        currentUser: (ctx) => {
          seen.push(ctx.state['visitor'], ctx['session'].views);
          return undefined;
        },
      },
    },
    { app: hostApp({ keys }) },
  );
  const app = await own.registerApp();
  const browser = new Browser();
  await reportOf(own, browser);
  const page = await browser.open(authorizeUrl(own, app));
  t.is(page.heading, 'Sign in');
  t.deepEqual([...new Set(seen)], ['a user of the host', 1]);
});

test('middleware in front that listens to the body of a token request leaves it whole', async (t) => {
  let counted = 0;
  const count: Middleware = async (ctx, next) => {
    ctx.req.on('data', (chunk: Buffer) => {
      counted += chunk.length;
    });
    return next();
  };
  await using own = await startPlatform({}, { app: hostApp({ front: [count] }) });
  const service = await own.registerService();
  const body = JSON.stringify({ grant_type: 'client_credentials', ...asClient(service) });
  t.is((await postJson(own.url('/oauth/token'), body)).status, 200);
  t.is(counted, body.length);
});

test('a multipart token request is 400, with and without a multipart parser, whose body the host gets', async (t) => {
  for (const front of [[], [koaBody({ multipart: true })]]) {
    await using own = await startPlatform({}, { app: hostApp({ front }) });
    const form = new FormData();
    form.set('grant_type', 'client_credentials');
    const { body, status } = await send(own.url('/oauth/token'), { method: 'POST', body: form });
    t.is(status, 400);
    t.deepEqual(body, {
      error: 'invalid_request',
      error_description: 'Send the body as application/x-www-form-urlencoded or application/json.',
    });
    const passedOn = await send(own.url('/oauth/custom'), { method: 'POST', body: form });
    if (front.length > 0) t.like(passedOn.body, { body: { grant_type: 'client_credentials' } });
  }
});

test('with app.proxy, client addresses come from X-Forwarded-For, and URLs from the issuer', async (t) => {
  const headers = {
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'evil.example',
  };
  await using own = await startPlatform({}, { app: hostApp({ proxy: true }) });
  const app = await own.registerApp();
  t.is((await reportOf(own, new Browser(), '/oauth/custom', headers)).ip, '203.0.113.7');

  const browser = new Browser();
  const page = await browser.get(authorizeUrl(own, app), headers);
  t.is(page.status, 303);
  t.is(page.location?.origin, own.origin);
  const metadata = await fetch(`${own.origin}/.well-known/oauth-authorization-server`, { headers });
  t.notRegex(await metadata.text(), /evil\.example|https:/);
  const signedIn = await signIn(browser, await browser.follow(page));
  t.is(signedIn.heading, 'Authorize Reports');
  // The issuer is http, so cookies are not Secure, whatever X-Forwarded-Proto says.
  t.true(browser.cookies.length > 0);
});

const setStatusAndBody: Middleware = async (ctx, next) => {
  ctx.status = 202;
  ctx.body = 'not ready';
  await next();
};

test('a status or body set by earlier middleware of the host is replaced', async (t) => {
  await using own = await startPlatform({}, { app: hostApp({ front: [setStatusAndBody] }) });
  const [app, service] = [await own.registerApp(), await own.registerService()];
  const issued = await askToken(own, 'JSON', { grant_type: 'client_credentials', ...asClient(service) });
  t.is(issued.status, 200);
  t.is(issued.headers.get('content-type'), 'application/json; charset=utf-8');
  const revoked = await postForm(own.url('/oauth/revoke'), {
    ...asClient(service),
    token: issued.body.access_token,
  });
  t.is(revoked.status, 200);
  t.is(revoked.text, '{}');
  t.is(revoked.headers.get('content-type'), 'application/json; charset=utf-8');
  t.is((await send(authorizeUrl(own, app))).status, 303);
  const login = await new Browser().open(authorizeUrl(own, app));
  t.is(login.status, 200);
  t.is(login.response.headers.get('content-type'), 'text/html; charset=utf-8');
});

test("an error of the host's user store is a page with a reference, and only the log has the cause", async (t) => {
  await using own = await startPlatform({}, { app: hostApp() });
  const app = await own.registerApp();
  const failure = new Error('the people table failed');
  own.users.verifyPassword = async () => {
    throw failure;
  };
  const browser = new Browser();
  const page = await signIn(browser, await browser.open(authorizeUrl(own, app)));
  t.is(page.status, 500);
  t.is(page.heading, 'Something went wrong on our side');
  t.notRegex(page.html, /people table/);
  const { fields } = own.logger.lines.find(({ level }) => level === 'error')!;
  t.is((fields as { err: Error }).err, failure);
  t.true(page.text.includes((fields as { request_id: string }).request_id));
});

async function reportOf(
  { origin }: Platform,
  browser: Browser,
  path = '/report',
  headers: Record<string, string> = {},
): Promise<Report> {
  const page = await browser.get(origin + path, headers);
  return JSON.parse(page.html) as Report;
}
