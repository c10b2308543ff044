import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect as openHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect as openSocket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import test from 'ava';
import { createAuthServer } from 'koa-gatehouse';
import type { InteractionFlow, Interactions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, gate, people, signIn, startPlatform } from '../harness/platform.ts';
import type { Mounting } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { askToken, FORMATS } from './flows.ts';

/** `http.createServer(auth.callback())`, without an app. */
const alone: Mounting = { app: ({ auth }) => auth.callback() };

for (const path of ['', '/auth']) {
  test(`all grants without an app: issuer path "${path}"`, async (t) => {
    await using platform = await startPlatform({}, { ...alone, path });
    const [app, service] = [await platform.registerApp(), await platform.registerService()];
    for (const format of FORMATS) {
      const response = await askToken(platform, format, {
        grant_type: 'client_credentials',
        ...asClient(service),
      });
      t.is(response.status, 200);
      const browser = new Browser();
      const consent = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
      const back = consent.location
        ? consent
        : await browser.follow(await browser.submit(consent, 'Authorize'));
      const code = back.location?.searchParams.get('code') ?? '';
      const parameters = {
        grant_type: 'authorization_code',
        ...asClient(app),
        redirect_uri: app.redirectUri,
        code,
      };
      const issued = await askToken(platform, format, parameters);
      t.is(issued.status, 200, JSON.stringify(issued.body));
      const { refresh_token } = issued.body;
      const refreshed = await askToken(platform, format, {
        grant_type: 'refresh_token',
        ...asClient(app),
        refresh_token,
      });
      t.is(refreshed.status, 200);
      t.not(refreshed.body.access_token, issued.body.access_token);
    }
    const asset = await send(
      new URL(
        /href="([^"]+page\.css)"/.exec((await new Browser().open(authorizeUrl(platform, app))).html)![1]!,
        platform.origin,
      ),
    );
    t.is(asset.status, 200);
    t.is(asset.headers.get('content-type'), 'text/css; charset=utf-8');
  });
}

test('all other paths are 404', async (t) => {
  await using platform = await startPlatform({}, { ...alone, path: '/auth' });
  for (const path of [
    '/',
    '/auth',
    '/auth/',
    '/auth/nope',
    '/auth/oauth/nope',
    '/oauth/token',
    '/api/v1/identity',
    '/favicon.ico',
    '/auth/oauth/assets/x/../../../package.json',
    '/auth/oauth/assets/x/%2e%2e%2fpackage.json',
    '/auth/oauth/device',
    '/auth/oauth/logout/confirm',
    '/auth/me',
    '/auth/request',
    '/auth/session/end',
    '/auth/reg',
  ]) {
    const { status, text: body } = await send(platform.origin + path);
    t.is(status, 404, path);
    t.is(body, 'Not Found', path);
  }
});

test('a method that an endpoint does not allow is 405', async (t) => {
  await using platform = await startPlatform({}, alone);
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect', '/oauth/TOKEN/']) {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const { status, headers, body } = await send(platform.url(path), { method });
      t.is(status, 405, `${method} ${path}`);
      t.is(headers.get('allow'), 'POST, OPTIONS');
      t.is(body?.['error'], 'invalid_request');
    }
    t.is((await send(platform.url(path), { method: 'HEAD' })).status, 405);
  }
  t.is((await send(platform.url('/oauth/authorize'), { method: 'POST' })).status, 404);
  t.is((await send(platform.url('/oauth/jwks'), { method: 'HEAD' })).status, 200);
});

const unusual: Record<string, string> = {
  'an absolute URL of another host': 'GET http://evil.example/oauth/jwks HTTP/1.1',
  'an asterisk': 'OPTIONS * HTTP/1.1',
  'half an escape': 'GET /oauth/interaction/%E0%A4%A HTTP/1.1',
  'a NUL': 'GET /oauth/interaction/%00 HTTP/1.1',
  'two slashes': 'GET //oauth/jwks HTTP/1.1',
  'a backslash': String.raw`GET /oauth\jwks HTTP/1.1`,
  'a fragment': 'GET /oauth/jwks#x HTTP/1.1',
  'no slash': 'GET oauth/jwks HTTP/1.1',
  'a query of unusual pairs': 'GET /oauth/authorize?&=&&client_id&=x&[]=1&__proto__=x&constructor=1 HTTP/1.1',
  'a repeated parameter': 'GET /oauth/authorize?client_id=a&client_id=b HTTP/1.1',
  'a long path': `GET /oauth/interaction/${'x'.repeat(8000)} HTTP/1.1`,
};

for (const [name, line] of Object.entries(unusual)) {
  test(`an unusual request is answered with a status below 500: ${name}`, async (t) => {
    await using platform = await startPlatform({}, alone);
    const answer = await sendRaw(
      platform.origin,
      `${line}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    );
    t.regex(answer, /^HTTP\/1\.1 [1-4]\d\d /, answer);
    t.notRegex(answer, /evil\.example/);
    t.deepEqual(
      platform.logger.lines.filter(({ level }) => level === 'error'),
      [],
    );
  });
}

test('two pipelined requests on one connection are answered in order', async (t) => {
  await using platform = await startPlatform({}, alone);
  const form = 'grant_type=nonsense';
  const head = `Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n`;
  const first = `POST /oauth/token HTTP/1.1\r\n${head}\r\n${form}`;
  const second = `GET /oauth/jwks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  const answers = await sendRaw(platform.origin, first + second);
  t.deepEqual(
    [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['400', '200'],
  );
});

async function sendRaw(origin: string, request: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = openSocket(Number(port), hostname);
  socket.write(request);
  return text(socket);
}

/** The bundled pages, which also record client addresses. */
function recordAddresses(addresses: string[]): Interactions {
  return (flow: InteractionFlow) => {
    const bundled = pages()(flow);
    return {
      ...bundled,
      async middleware(ctx, next) {
        addresses.push(ctx.ip);
        await bundled.middleware(ctx, next);
      },
    };
  };
}

for (const [trustProxy, address] of [
  [true, '203.0.113.7'],
  [false, '127.0.0.1'],
] as const) {
  test(`trustProxy: ${trustProxy} makes ${address} the client address of a page request`, async (t) => {
    const addresses: string[] = [];
    await using platform = await startPlatform(
      { trustProxy, interactions: recordAddresses(addresses) },
      alone,
    );
    await send(platform.url('/oauth/logout'), { headers: { 'x-forwarded-for': '203.0.113.7' } });
    t.deepEqual(addresses, [address]);
  });
}

test('trustProxy changes no URL of the server', async (t) => {
  await using platform = await startPlatform({ trustProxy: true }, alone);
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
  const { text: body } = await send(platform.url('/.well-known/oauth-authorization-server'), { headers });
  t.notRegex(body, /evil|https:/);
  const app = await platform.registerApp();
  const redirect = await send(authorizeUrl(platform, app), { headers });
  t.is(redirect.status, 303);
  t.regex(redirect.headers.get('location') ?? '', /^\/oauth\/interaction\//);
  t.notRegex(redirect.headers.getSetCookie().join(), /secure/i);
});

test('without trustProxy, X-Forwarded-For does not change the client address', async (t) => {
  for (const [options, address] of [
    [{}, '127.0.0.1'],
    [{ trustProxy: false }, '127.0.0.1'],
    [{ trustProxy: true }, '203.0.113.9'],
  ] as const) {
    await using platform = await startPlatform(options, alone);
    const service = await platform.registerService();
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const parameters = { grant_type: 'client_credentials', ...asClient(service) };
    t.is((await postJson(platform.url('/oauth/token'), parameters, headers)).status, 200);
    const [issued] = await platform.auth.audit.list({ types: ['token_issued'] });
    t.is(issued?.address, address, JSON.stringify(options));
  }
});

test('several callbacks and middlewares of one server share its state', async (t) => {
  await using platform = await startPlatform(
    {},
    {
      app: ({ auth }) => {
        const listeners = [auth.callback(), auth.callback()];
        let count = 0;
        return (request, response) => listeners[(count += 1) % 2]!(request, response);
      },
    },
  );
  const app = await platform.registerApp();
  const browser = new Browser();
  const consent = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  const back = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(back.location?.origin, 'https://reports.example');
});

function readFirst(listener: RequestListener): RequestListener {
  async function readAndPass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isJson = request.headers['content-type'] === 'application/json';
    const read = await text(request);
    const body: unknown = isJson ? JSON.parse(read) : Object.fromEntries(new URLSearchParams(read));
    listener(Object.assign(request, { body }), response);
  }
  return (request, response) => void readAndPass(request, response);
}

test('behind a framework that has parsed the body onto Node’s request', async (t) => {
  await using platform = await startPlatform({}, { app: ({ auth }) => readFirst(auth.callback()) });
  const service = await platform.registerService();
  for (const format of FORMATS) {
    const response = await askToken(platform, format, {
      grant_type: 'client_credentials',
      ...asClient(service),
    });
    t.is(response.status, 200, JSON.stringify(response.body));
  }
});

test('over HTTP/2, where a body needs no Content-Length', async (t) => {
  const server = createHttp2Server().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const storage = memoryStorage();
  const auth = await createAuthServer({
    issuer: origin,
    users: people(),
    storage,
    interactions: pages(),
    gate,
  });
  server.on('request', auth.callback() as never);
  const session = openHttp2(origin);
  t.teardown(async () => {
    session.close();
    server.close();
    await auth.close();
  });
  const { client, secret } = await auth.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
  });
  const parameters = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret!.value };
  for (const [type, body] of [
    ['application/x-www-form-urlencoded', new URLSearchParams(parameters).toString()],
    ['application/json', JSON.stringify(parameters)],
  ] as const) {
    const sent = session.request({ ':path': '/oauth/token', ':method': 'POST', 'content-type': type });
    sent.end(body);
    const answer = JSON.parse(await text(sent)) as Record<string, unknown>;
    t.is(answer['expires_in'], 31_536_000, JSON.stringify(answer));
  }
});
