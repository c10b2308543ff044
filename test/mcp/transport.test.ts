import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';

import test from '../harness/test.ts';

import { like } from '../harness/like.ts';
import { send } from '../harness/requests.ts';
import { callTool, message, post, startAgentServer } from './agents.ts';
import type { AgentServer } from './agents.ts';

const LIST = message('tools/list');

const CALL = message('tools/call', { name: 'school_list', arguments: {} });

/** A call as a client of 2025 sends it. */
const CALL_OF_2025 = {
  jsonrpc: '2.0',
  id: 'a',
  method: 'tools/call',
  params: { name: 'school_list', arguments: {} },
};

/** Sends a list with a `Host` of its own, which fetch does not permit. Resolves to the status, and the code of a problem. */
async function sendToHost(
  server: AgentServer,
  token: string,
  host: string,
): Promise<readonly [status: number, code: unknown]> {
  const headers = {
    host,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  };
  const sent = request(server.url, { method: 'POST', headers });
  sent.end(JSON.stringify(LIST));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { code } = (await json(response)) as { code?: unknown };
  return [response.statusCode!, code];
}

test('requests of other web pages are refused, before their token is looked at', async (t) => {
  const server = await startAgentServer(t);
  const others = [
    'https://attacker.example',
    'null',
    `${server.origin}.attacker.example`,
    'http://127.0.0.1',
  ];
  for (const origin of others) {
    const { body, status } = await post(server, undefined, LIST, { origin });
    t.is(status, 403);
    t.like(body, {
      code: 'origin_not_allowed',
      message:
        'Web pages of this origin may not send requests here: see the option origins of createMcpEndpoint().',
    });
  }
  const token = await server.token();
  t.is((await post(server, token, LIST, { origin: server.origin })).status, 200);
  t.is((await post(server, token, LIST)).status, 200);

  const named = await startAgentServer(t, { origins: ['https://app.example'] });
  for (const [origin, status] of [
    ['https://app.example', 200],
    [named.origin, 403],
  ] as const)
    t.is((await post(named, await named.token(), LIST, { origin })).status, status);
});

test('pages of the named origins may ask first, and read the answers', async (t) => {
  const origin = 'https://app.example';
  const server = await startAgentServer(t, { origins: [origin] });
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,mcp-protocol-version',
  };
  const asked = await send(server.url, { method: 'OPTIONS', headers: { origin, ...preflight } });
  t.is(asked.status, 204);
  t.is(asked.headers.get('access-control-allow-origin'), origin);
  t.is(asked.headers.get('access-control-allow-headers'), '*, Authorization');
  t.is(asked.headers.get('access-control-allow-methods'), 'GET, POST, DELETE');
  t.is(asked.headers.get('vary'), 'Origin');
  const token = await server.token();
  for (const [given, status] of [
    [undefined, 401],
    [token, 200],
  ] as const) {
    const answer = await post(server, given, LIST, { origin });
    t.is(answer.status, status);
    t.is(answer.headers.get('access-control-allow-origin'), origin);
    t.is(answer.headers.get('access-control-expose-headers'), '*, Retry-After, WWW-Authenticate');
    t.is(answer.headers.get('access-control-allow-credentials'), null);
  }
  const headers = { origin: 'https://attacker.example', ...preflight };
  const other = await send(server.url, { method: 'OPTIONS', headers });
  t.is(other.status, 403);
  t.is(other.headers.get('access-control-allow-origin'), null);
});

test('a slash at the end of the URL is ignored, by the endpoint, its metadata and the parameter resource', async (t) => {
  const server = await startAgentServer(t);
  const slashed = { ...server, url: `${server.url}/` };
  const token = await server.token();
  t.is((await post(slashed, token, LIST)).status, 200);
  const refused = await post(slashed, undefined, LIST);
  const metadataUrl = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
  t.true(refused.headers.get('www-authenticate')?.includes(`resource_metadata="${metadataUrl}"`));
  for (const url of [metadataUrl, `${metadataUrl}/`]) t.is((await send(url)).body?.['resource'], server.url);
});

test('a client that accepts everything accepts both forms of an answer', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
  };
  const old = { 'mcp-protocol-version': '2025-11-25' };
  for (const [accept, status] of [
    ['*/*', 200],
    ['application/*, text/*;q=0.1', 200],
    ['application/json, text/event-stream', 200],
    ['application/json', 406],
    ['text/html', 406],
  ] as const) {
    t.is((await post(server, token, initialize, { ...old, accept })).status, status, accept);
    t.is((await post(server, token, CALL_OF_2025, { ...old, accept })).status, status, accept);
  }
});

test('requests for other hosts are refused', async (t) => {
  const server = await startAgentServer(t, { hosts: ['internal.example'] });
  const token = await server.token();
  for (const host of [
    'attacker.example',
    'attacker.example:80',
    '127.0.0.1.attacker.example',
    'evilinternal.example',
    'evil.internal.example',
    'internal.example.attacker.example',
    'evil127.0.0.1',
    '[::2]',
  ]) {
    t.deepEqual(await sendToHost(server, token, host), [403, 'host_not_allowed'], host);
  }
  for (const host of ['internal.example', 'internal.example:8080', '127.0.0.1:1', 'LOCALHOST', '[::1]:80']) {
    t.deepEqual(await sendToHost(server, token, host), [200, undefined], host);
  }
});

// Replaces a global.
test.serial('the SDK gets the header fields of the protocol, and no credentials', async (t) => {
  const passed: string[][] = [];
  const RealRequest = globalThis.Request;
  globalThis.Request = class extends RealRequest {
    constructor(...given: ConstructorParameters<typeof RealRequest>) {
      super(...given);
      passed.push([...this.headers.keys()]);
    }
  };
  t.teardown(() => {
    globalThis.Request = RealRequest;
  });
  const server = await startAgentServer(t);
  const headers = { cookie: 'session=secret', 'x-api-key': 'secret' };
  t.is((await post(server, await server.token(), LIST, headers)).status, 200);
  t.deepEqual(passed, [['accept', 'content-type', 'mcp-method', 'mcp-protocol-version']]);
  // A call needs no such request, which costs more than most actions.
  t.is((await callTool(server, await server.token(), 'school_list')).status, 200);
  t.is(
    (await post(server, await server.token(), CALL_OF_2025, { 'mcp-protocol-version': '2025-11-25' })).status,
    200,
  );
  t.is(passed.length, 1);
});

test('GET, DELETE and other methods are 405, and other paths are passed on', async (t) => {
  const server = await startAgentServer(t);
  const headers = { authorization: `Bearer ${await server.token()}` };
  for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS']) {
    const answer = await send(server.url, { method, headers });
    t.is(answer.status, 405, method);
    t.is(answer.headers.get('allow'), 'POST');
    t.like(answer.body, { jsonrpc: '2.0', error: { message: 'Method not allowed.' } });
  }
  for (const path of ['/mcp//', '/MCP', '/mcp/sse', '/mcpx']) {
    t.is((await send(server.origin + path, { method: 'POST', headers })).status, 404, path);
  }
});

test('a body that is no message is 400, a larger one than maxBodyBytes 413, another type 415', async (t) => {
  const server = await startAgentServer(t, { maxBodyBytes: 1000 });
  const token = await server.token();
  const noBatch = 'Send one message for each request: batches are not supported.';
  const noMessage = 'Bad Request: the request body is not a valid JSON-RPC message';
  for (const [body, code, text] of [
    ['', -32_700, 'Send a JSON-RPC message as the body.'],
    ['{', -32_700, 'The body is not valid JSON.'],
    ['[]', -32_600, noBatch],
    [JSON.stringify([LIST]), -32_600, noBatch],
    ['5', -32_600, noMessage],
    ['null', -32_600, noMessage],
    ['{"method":"tools/list"}', -32_600, noMessage],
  ] as const) {
    const answer = await post(server, token, body);
    t.is(answer.status, 400, body);
    t.deepEqual(answer.body?.['error'], { code, message: text }, body);
  }
  const large = await post(server, token, message('tools/list', { cursor: 'a'.repeat(1000) }));
  t.is(large.status, 413);
  const type = await post(server, token, LIST, { 'content-type': 'text/plain' });
  t.is(type.status, 415);
});

test('header fields that disagree with the body are 400, -32020, and so are missing ones', async (t) => {
  const server = await startAgentServer(t);
  const all = {
    'content-type': 'application/json',
    authorization: `Bearer ${await server.token()}`,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'school_list',
  };
  const body = JSON.stringify(CALL);
  const without = (left: string) => Object.fromEntries(Object.entries(all).filter(([name]) => name !== left));
  for (const headers of [
    { ...all, 'mcp-method': 'tools/list' },
    { ...all, 'mcp-name': 'rename_school' },
    { ...all, 'mcp-protocol-version': '2025-11-25' },
    without('mcp-method'),
    without('mcp-name'),
    without('mcp-protocol-version'),
  ]) {
    const answer = await send(server.url, { method: 'POST', headers, body });
    t.is(answer.status, 400, JSON.stringify(headers));
    t.like(answer.body, { error: { code: -32_020 } });
  }
  t.deepEqual(server.schools.ran, []);
  t.is((await send(server.url, { method: 'POST', headers: all, body })).status, 200);
});

test('a call of 2025 is answered with a stream, to a client that accepts it and names a revision that is known', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const revision = { 'mcp-protocol-version': '2025-11-25' };
  const { headers, text } = await post(server, token, CALL_OF_2025, revision);
  t.is(headers.get('content-type'), 'text/event-stream');
  t.regex(text, /^event: message\ndata: \{.*"id":"a"\}\n\n$/);
  t.deepEqual(server.schools.ran, ['list']);
  const notAcceptable = /"Not Acceptable: Client must accept both application\/json and text\/event-stream"/;
  for (const [refused, status, expected] of [
    [{ ...revision, accept: 'application/json' }, 406, notAcceptable],
    [{ ...revision, accept: 'text/event-stream' }, 406, notAcceptable],
    [
      { 'mcp-protocol-version': '2025-01-01' },
      400,
      /"Bad Request: Unsupported protocol version: 2025-01-01 /,
    ],
    [
      { 'mcp-protocol-version': '2026-07-28' },
      400,
      /"Invalid params: .* names protocol revision 2026-07-28, /,
    ],
  ] as const) {
    const answer = await post(server, token, CALL_OF_2025, refused);
    t.is(answer.status, status, JSON.stringify(refused));
    t.regex(answer.text, expected);
  }
  t.deepEqual(server.schools.ran, ['list']);
});

test('a call whose envelope has mistakes is 400, -32602, one of an unknown revision 400, -32022, and an unknown method 404, -32601', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  for (const wrong of [
    { clientCapabilities: undefined },
    { clientCapabilities: 'all' },
    { clientInfo: { name: 5 } },
    { protocolVersion: 20_260_728 },
  ]) {
    const members = Object.entries(wrong).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]);
    const _meta = { ...CALL.params._meta, ...Object.fromEntries(members) };
    const answer = await post(server, token, { ...CALL, params: { ...CALL.params, _meta } });
    t.is(answer.status, 400, JSON.stringify(wrong));
    t.like(answer.body, { error: { code: -32_602 } });
  }
  for (const [requested, method] of [
    ['2030-01-01', 'tools/list'],
    ['2030-01-01', 'tools/call'],
    ['2025-11-25', 'tools/call'],
    ['2023-01-01', 'tools/call'],
  ] as const) {
    const sent = message(method, { name: 'school_list', arguments: {} }, requested);
    const unknown = await post(server, token, sent, { 'mcp-protocol-version': requested });
    t.is(unknown.status, 400, requested);
    like(t, unknown.body?.['error'], { code: -32_022, data: { supported: ['2026-07-28'], requested } });
  }
  t.deepEqual(server.schools.ran, []);
  const method = await post(server, token, message('schools/list'));
  t.is(method.status, 404);
  t.like(method.body?.['error'], { code: -32_601 });
});

test('a discovery names the revision and the tools, and nothing that is not served', async (t) => {
  const server = await startAgentServer(t, { instructions: 'Ask before you close a school.' });
  const { body } = await post(server, await server.token(), message('server/discover'));
  like(t, body?.['result'], {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    instructions: 'Ask before you close a school.',
  });
  const stream = await post(
    server,
    await server.token(),
    message('subscriptions/listen', { notifications: { toolsListChanged: true } }),
  );
  // It is acknowledged without any change to listen to, and ends.
  t.deepEqual(
    Array.from(stream.text.matchAll(/^data: (.*)$/gm), ([, data]) => {
      const { method, params, result } = JSON.parse(data!);
      return method === undefined ? result.resultType : [method, params.notifications];
    }),
    [['notifications/subscriptions/acknowledged', {}], 'complete'],
  );
});

test('answers are not stored, and an answer to a notification is empty', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const { headers } = await post(server, token, LIST);
  t.is(headers.get('cache-control'), 'no-store');
  t.is(headers.get('x-content-type-options'), 'nosniff');
  const { id: _id, ...notification } = message('notifications/cancelled', { requestId: 1 });
  const { status, text } = await post(server, token, notification);
  t.deepEqual([status, text], [202, '']);
});

test('a message of a stranger that is not understood is no fault of the server', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const atStart = server.logger.lines.length;
  await post(server, token, { jsonrpc: '2.0', id: {}, method: 5 });
  await post(server, token, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: null });
  await post(server, token, message('tools/call', { name: 5 }));
  await post(server, token, { jsonrpc: '2.0', id: 1, result: {} }, { 'mcp-protocol-version': '2025-11-25' });
  t.deepEqual(
    server.logger.lines.slice(atStart).filter(({ level }) => level !== 'debug' && level !== 'info'),
    [],
  );
});
