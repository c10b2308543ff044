import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect as openHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect as openSocket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import test from '../harness/test.ts';
import type { InteractionFlow, Interactions } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Mounting } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import { asClient, clientToken, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { askToken, FORMATS } from './flows.ts';

/** `http.createServer(auth.callback())`, without an app. */
const alone: Mounting = { app: ({ auth }) => auth.callback() };
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({}, alone));
  const service = { grant_type: 'client_credentials', ...asClient(await platform.registerService()) };
  return { platform, service };
});

test('all grants and the pages without an app, below a path; all other paths are 404', async (t) => {
  await using own = await startPlatform({}, { ...alone, path: '/auth' });
  t.is(typeof (await clientToken(own, await own.registerService())), 'string');
  const app = await own.registerApp();
  const issued = await runCodeFlow(own, app);
  t.is(issued.status, 200, JSON.stringify(issued.body));
  const refreshed = await exchangeRefreshToken(own, app, issued.body.refresh_token);
  t.is(refreshed.status, 200);
  t.not(refreshed.body.access_token, issued.body.access_token);
  const { html } = await new Browser().open(authorizeUrl(own, app));
  const asset = await send(new URL(/href="([^"]+page\.css)"/.exec(html)![1]!, own.origin));
  t.is(asset.status, 200);
  t.is(asset.headers.get('content-type'), 'text/css; charset=utf-8');

  for (const path of [
    '/',
    '/auth',
    '/auth/',
    '/auth/nope',
    '/auth/oauth/nope',
    '/oauth/token',
    '/api/v1/identity',
    '/auth/oauth/assets/x/../../../package.json',
    '/auth/oauth/assets/x/%2e%2e%2fpackage.json',
    '/auth/oauth/device',
    '/auth/oauth/logout/confirm',
    // Of the engine.
    '/auth/me',
    '/auth/request',
    '/auth/session/end',
    '/auth/reg',
  ]) {
    const { status, text: body } = await send(own.origin + path);
    t.is(status, 404, path);
    t.is(body, 'Not Found', path);
  }
  for (const [path, method, status] of [
    ['/oauth/TOKEN/', 'GET', 405],
    ['/oauth/authorize', 'POST', 404],
    ['/oauth/jwks', 'HEAD', 200],
  ] as const)
    t.is((await send(own.url(path), { method })).status, status, path);
});

test('an unusual request is answered with a status below 500', async (t) => {
  const { platform } = await started();
  for (const line of [
    'GET http://evil.example/oauth/jwks HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET /oauth/interaction/%E0%A4%A HTTP/1.1',
    'GET /oauth/interaction/%00 HTTP/1.1',
    'GET //oauth/jwks HTTP/1.1',
    String.raw`GET /oauth\jwks HTTP/1.1`,
    'GET /oauth/jwks#x HTTP/1.1',
    'GET oauth/jwks HTTP/1.1',
    'GET /oauth/authorize?&=&&client_id&=x&[]=1&__proto__=x&constructor=1 HTTP/1.1',
    'GET /oauth/authorize?client_id=a&client_id=b HTTP/1.1',
    `GET /oauth/interaction/${'x'.repeat(8000)} HTTP/1.1`,
  ]) {
    const answer = await sendRaw(`${line}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
    t.regex(answer, /^HTTP\/1\.1 [1-4]\d\d /, line);
    t.notRegex(answer, /evil\.example/, line);
  }
  const errors = platform.logger.lines.filter(({ level }) => level === 'error');
  t.deepEqual(errors, []);
});

test('two pipelined requests on one connection are answered in order', async (t) => {
  const form = 'grant_type=nonsense';
  const head = `Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n`;
  const first = `POST /oauth/token HTTP/1.1\r\n${head}\r\n${form}`;
  const second = `GET /oauth/jwks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  const answers = await sendRaw(first + second);
  const statuses = Array.from(answers.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
  t.deepEqual(statuses, ['400', '200']);
});

async function sendRaw(request: string): Promise<string> {
  const { platform } = await started();
  const { hostname, port } = new URL(platform.origin);
  const socket = openSocket(Number(port), hostname);
  socket.write(request);
  return text(socket);
}

test('trustProxy changes no URL of the server', async (t) => {
  await using own = await startPlatform({ trustProxy: true }, alone);
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
  const { text: body } = await send(own.url('/.well-known/oauth-authorization-server'), { headers });
  t.notRegex(body, /evil|https:/);
  const redirect = await send(authorizeUrl(own, await own.registerApp()), { headers });
  t.is(redirect.status, 303);
  t.regex(redirect.headers.get('location') ?? '', /^\/oauth\/interaction\//);
  t.notRegex(redirect.headers.getSetCookie().join(), /secure/i);
});

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

test('without trustProxy, X-Forwarded-For does not change the client address', async (t) => {
  for (const [options, address] of [
    [{}, '127.0.0.1'],
    [{ trustProxy: false }, '127.0.0.1'],
    [{ trustProxy: true }, '203.0.113.9'],
  ] as const) {
    const addresses: string[] = [];
    const interactions = recordAddresses(addresses);
    await using own = await startPlatform({ ...options, interactions }, alone);
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const parameters = { grant_type: 'client_credentials', ...asClient(await own.registerService()) };
    t.is((await postJson(own.url('/oauth/token'), parameters, headers)).status, 200);
    const [issued] = await own.auth.audit.list({ types: ['token_issued'] });
    t.is(issued?.address, address, JSON.stringify(options));
    await send(own.url('/oauth/logout'), { headers });
    t.deepEqual(addresses, [address]);
  }
});

test('several callbacks of one server share its state', async (t) => {
  let count = 0;
  const app: Mounting['app'] = ({ auth }) => {
    const listeners = [auth.callback(), auth.callback()];
    return (request, response) => listeners[(count += 1) % 2]!(request, response);
  };
  await using own = await startPlatform({}, { app });
  t.is((await runCodeFlow(own, await own.registerApp())).status, 200);
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
  await using own = await startPlatform({}, { app: ({ auth }) => readFirst(auth.callback()) });
  const parameters = { grant_type: 'client_credentials', ...asClient(await own.registerService()) };
  for (const format of FORMATS) {
    const response = await askToken(own, format, parameters);
    t.is(response.status, 200, JSON.stringify(response.body));
  }
});

test('over HTTP/2, where a body needs no Content-Length', async (t) => {
  const { platform, service } = await started();
  const server = createHttp2Server(platform.auth.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = openHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.teardown(() => {
    session.close();
    server.close();
  });
  for (const [type, body] of [
    ['application/x-www-form-urlencoded', new URLSearchParams(service).toString()],
    ['application/json', JSON.stringify(service)],
  ] as const) {
    const sent = session.request({ ':path': '/oauth/token', ':method': 'POST', 'content-type': type });
    sent.end(body);
    const answer = JSON.parse(await text(sent)) as Record<string, unknown>;
    t.is(answer['expires_in'], 31_536_000, JSON.stringify(answer));
  }
});
