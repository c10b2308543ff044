import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

import { bodyParser } from '@koa/bodyparser';
import test from 'ava';
import type { Middleware } from 'koa';
import { koaBody } from 'koa-body';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm, postJson } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { askToken, FORMATS, runGrants } from './flows.ts';
import { hostApp } from './host.ts';
import type { HostOptions, Report } from './host.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const KEYS = { 'keys of its own': ['a key of the host'], 'no keys': undefined };

const parsers: Record<string, Pick<HostOptions, 'front' | 'behind'>> = {
  'no body parser': {},
  '@koa/bodyparser in front': { front: [bodyParser()] },
  '@koa/bodyparser behind': { behind: [bodyParser()] },
  '@koa/bodyparser for JSON only in front': { front: [bodyParser({ enableTypes: ['json'] })] },
  '@koa/bodyparser for forms only in front': { front: [bodyParser({ enableTypes: ['form'] })] },
  'koa-body in front': { front: [koaBody()] },
  'koa-body behind': { behind: [koaBody()] },
  'koa-body with multipart in front': { front: [koaBody({ multipart: true })] },
  'koa-body on the Node request too, in front': { front: [koaBody({ patchNode: true })] },
  'two parsers in front': { front: [koaBody(), bodyParser()] },
  'a parser in front and one behind': { front: [koaBody()], behind: [bodyParser()] },
};

for (const [keys, ownKeys] of Object.entries(KEYS)) {
  for (const [place, middlewares] of Object.entries(parsers)) {
    test(`all grants, by JSON and by form: ${place}, ${keys}`, async (t) => {
      await using platform = await startPlatform({}, { app: hostApp({ keys: ownKeys, ...middlewares }) });
      const browser = new Browser();
      t.is((await reportOf(platform, browser)).views, 1);

      for (const format of FORMATS) await runGrants(t, platform, { format, browser });

      const report = await reportOf(platform, browser);
      t.is(report.views, 2, 'the session of the host is the same as before');
      t.is(report.signature, 'of the host');
      t.deepEqual(report.state, { visitor: 'a user of the host' });
    });
  }
}

test('the cookies of the host and of the server do not change each other', async (t) => {
  const keys = ['a key of the host'];
  await using platform = await startPlatform({}, { app: hostApp({ keys }) });
  const app = await platform.registerApp();
  const browser = new Browser();
  await reportOf(platform, browser);
  const before = browser.cookies;
  await authorize(platform, app, { browser });
  const after = browser.cookies;
  for (const cookie of before)
    t.true(
      after.some((one) => JSON.stringify(one) === JSON.stringify(cookie)),
      cookie.name,
    );
  const added = after.filter(({ name }) => !before.some((one) => one.name === name));
  for (const cookie of added) {
    t.like(cookie, { httpOnly: true, sameSite: 'lax', secure: false });
    t.regex(
      `${cookie.name} ${cookie.path}`,
      /^gatehouse_((session_\d+(\.sig)?|device_\d+) \/|interaction(\.sig)? \/oauth\/interaction\/[\w-]+)$/,
    );
  }
});

test('the host answers other requests as if the server were not mounted', async (t) => {
  const options = { keys: ['a key of the host'], front: [bodyParser()] };
  await using with_ = await startPlatform({}, { app: hostApp(options) });
  await using without = await startPlatform({}, { app: hostApp({ ...options, mounted: false }) });
  const requests: [string, RequestInit?][] = [
    ['/report?a=1&b=%2F'],
    ['/oauth/custom?a=1&a=2'],
    ['/oauth/custom', { method: 'DELETE' }],
    ['/OAuth/custom', { method: 'OPTIONS' }],
    ['/oauth/token/extra', { method: 'POST', body: '{"grant_type":"mine"}', headers: JSON_TYPE }],
    ['/oauth/token/extra?x=%20', { method: 'POST', body: new URLSearchParams({ grant_type: 'mine' }) }],
    ['/oauth/token/extra', { method: 'POST', body: '["an array"]', headers: JSON_TYPE }],
    ['/oauth/interaction'],
    ['/.well-known/security.txt'],
    ['/oauth/nope'],
    ['/oauth/interactions/x'],
    ['/.well-known/nope'],
    ['/oauth'],
    ['/oauth/'],
    ['//oauth/custom'],
    ['/nope'],
    ['/boom'],
  ];
  for (const [path, init] of requests) {
    const [one, other] = await Promise.all([with_, without].map((platform) => answer(platform, path, init)));
    t.deepEqual(one, other, `${init?.method ?? 'GET'} ${path}`);
  }
});

async function answer({ origin }: Platform, path: string, init: RequestInit = {}): Promise<object> {
  const response = await fetch(origin + path, init);
  const body = await response.text();
  const {
    date: _date,
    'x-response-time': _time,
    'set-cookie': cookies,
    ...headers
  } = Object.fromEntries(response.headers);
  const names = cookies?.match(/[\w.]+(?==)/g)?.filter((name) => !['path', 'expires'].includes(name));
  return { status: response.status, headers, names, body: body.startsWith('{') ? JSON.parse(body) : body };
}

test("middleware of the host runs for the server's requests", async (t) => {
  await using platform = await startPlatform({}, { app: hostApp() });
  const service = await platform.registerService();
  const { headers } = await askToken(platform, 'form', {
    grant_type: 'client_credentials',
    ...asClient(service),
  });
  t.regex(headers.get('x-response-time') ?? '', /^\d+ms$/);
  t.is(headers.get('x-logged'), 'POST /oauth/token 200');
  const page = await new Browser().get(`${platform.origin}/oauth/authorize?client_id=unknown`);
  t.is(page.response.headers.get('x-logged'), 'GET /oauth/authorize 400');
});

test("the host's session and cookies work in a request that the server has passed on", async (t) => {
  await using platform = await startPlatform({}, { app: hostApp({ keys: ['a key of the host'] }) });
  const browser = new Browser();
  for (const views of [1, 2, 3]) {
    t.is((await reportOf(platform, browser, '/oauth/custom')).views, views);
  }
  t.is((await reportOf(platform, browser, '/oauth/custom')).signature, 'of the host');
});

test('ctx.state of the host is available in currentUser', async (t) => {
  const seen: unknown[] = [];
  await using platform = await startPlatform(
    {
      login: {
        currentUser: (ctx) => {
          seen.push(ctx.state['visitor'], ctx['session'].views);
          return undefined;
        },
      },
    },
    { app: hostApp({ keys: ['a key of the host'] }) },
  );
  const app = await platform.registerApp();
  const browser = new Browser();
  await reportOf(platform, browser);
  const page = await browser.open(authorizeUrl(platform, app));
  t.is(page.heading, 'Sign in');
  t.deepEqual([...new Set(seen)], ['a user of the host', 1]);
});

test('a multipart body for a route of the host reaches it', async (t) => {
  await using platform = await startPlatform({}, { app: hostApp({ front: [koaBody({ multipart: true })] }) });
  const form = new FormData();
  form.set('name', 'plan');
  const response = await fetch(`${platform.origin}/oauth/custom`, { method: 'POST', body: form });
  t.like(await response.json(), { body: { name: 'plan' } });
});

test('middleware in front that listens to the body of a token request leaves it whole', async (t) => {
  let counted = 0;
  const count: Middleware = async (ctx, next) => {
    ctx.req.on('data', (chunk: Buffer) => {
      counted += chunk.length;
    });
    return next();
  };
  await using platform = await startPlatform({}, { app: hostApp({ front: [count] }) });
  const { client, secret } = await platform.registerService();
  const body = JSON.stringify({
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret,
  });
  t.like(await postJson(`${platform.origin}/oauth/token`, body), { status: 200 });
  t.is(counted, body.length);
});

test('a multipart token request is 400, with and without a multipart parser in front', async (t) => {
  for (const front of [[], [koaBody({ multipart: true })]]) {
    await using platform = await startPlatform({}, { app: hostApp({ front }) });
    const form = new FormData();
    form.set('grant_type', 'client_credentials');
    const response = await fetch(`${platform.origin}/oauth/token`, { method: 'POST', body: form });
    t.is(response.status, 400);
    t.deepEqual(await response.json(), {
      error: 'invalid_request',
      error_description: 'Send the body as application/x-www-form-urlencoded or application/json.',
    });
  }
});

const broken: Record<string, [string, string]> = {
  'malformed JSON': ['application/json', '{"grant_type":'],
  'an array': ['application/json', '[]'],
  'a nested value': ['application/json', '{"grant_type":{"a":1}}'],
  null: ['application/json', 'null'],
  'a list': ['application/json', '{"grant_type":["client_credentials"]}'],
  'a nested form': ['application/x-www-form-urlencoded', 'grant_type[a]=client_credentials'],
  'a repeated field': ['application/x-www-form-urlencoded', 'grant_type=a&grant_type=b'],
  'a megabyte of JSON': ['application/json', JSON.stringify({ grant_type: 'x'.repeat(1_000_000) })],
  'a megabyte of form': ['application/x-www-form-urlencoded', `grant_type=${'x'.repeat(1_000_000)}`],
};

for (const [place, middlewares] of Object.entries(parsers)) {
  test(`an invalid body is a 4xx, and the connection can be used afterwards: ${place}`, async (t) => {
    await using platform = await startPlatform({}, { app: hostApp(middlewares) });
    const service = await platform.registerService();
    const good = new URLSearchParams({ grant_type: 'client_credentials', ...asClient(service) }).toString();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    for (const [name, [type, body]] of Object.entries(broken)) {
      const refused = await send(platform, agent, type, body);
      // If a parser of the host fails, the host answers.
      t.true([400, 413].includes(refused.status), `${name}: ${refused.status} ${refused.body}`);
      t.true('error' in JSON.parse(refused.body) || 'host_error' in JSON.parse(refused.body), name);
      t.is(
        (await send(platform, agent, 'application/x-www-form-urlencoded', good)).status,
        200,
        `after ${name}`,
      );
    }
  });
}

async function send(
  { origin }: Platform,
  agent: Agent,
  type: string,
  body: string,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/oauth/token`, {
      method: 'POST',
      agent,
      headers: { 'content-type': type },
    });
    sent.on('response', (response) => {
      text(response).then(
        (answered) => resolve({ status: response.statusCode ?? 0, body: answered }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test('with app.proxy, client addresses come from X-Forwarded-For, and URLs from the issuer', async (t) => {
  const headers = {
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'evil.example',
  };
  await using platform = await startPlatform({}, { app: hostApp({ proxy: true }) });
  const app = await platform.registerApp();
  t.is((await reportOf(platform, new Browser(), '/oauth/custom', headers)).ip, '203.0.113.7');

  const browser = new Browser();
  const page = await browser.get(authorizeUrl(platform, app), headers);
  t.is(page.status, 303);
  t.is(page.location?.origin, platform.origin);
  const metadata = await fetch(`${platform.origin}/.well-known/oauth-authorization-server`, { headers });
  t.notRegex(await metadata.text(), /evil\.example|https:/);
  const signedIn = await signIn(browser, await browser.follow(page));
  t.is(signedIn.heading, 'Authorize Reports');
  t.true(
    browser.cookies.length > 0,
    'the issuer is http, so cookies are not Secure, whatever X-Forwarded-Proto says',
  );
});

const setStatusAndBody: Middleware = async (ctx, next) => {
  ctx.status = 202;
  ctx.body = 'not ready';
  await next();
};

test('a status or body set by earlier middleware of the host is replaced', async (t) => {
  await using platform = await startPlatform({}, { app: hostApp({ front: [setStatusAndBody] }) });
  const [app, service] = [await platform.registerApp(), await platform.registerService()];
  const issued = await askToken(platform, 'JSON', { grant_type: 'client_credentials', ...asClient(service) });
  t.is(issued.status, 200);
  t.is(issued.headers.get('content-type'), 'application/json; charset=utf-8');
  const revoked = await postForm(platform.url('/oauth/revoke'), {
    ...asClient(service),
    token: issued.body.access_token,
  });
  t.is(revoked.status, 200);
  t.is(revoked.text, '{}');
  t.is(revoked.headers.get('content-type'), 'application/json; charset=utf-8');
  const page = await new Browser().get(authorizeUrl(platform, app));
  t.is(page.status, 303);
  const login = await new Browser().open(authorizeUrl(platform, app));
  t.is(login.status, 200);
  t.is(login.response.headers.get('content-type'), 'text/html; charset=utf-8');
});

test("an error of the host's user store is a page with a reference, and only the log has the cause", async (t) => {
  await using platform = await startPlatform({}, { app: hostApp() });
  const app = await platform.registerApp();
  const failure = new Error('the people table failed');
  platform.users.authenticate = async () => {
    throw failure;
  };
  const browser = new Browser();
  const page = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  t.is(page.status, 500);
  t.is(page.heading, 'Something went wrong on our side');
  t.notRegex(page.html, /people table/);
  const { fields } = platform.logger.lines.find(({ level }) => level === 'error')!;
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
