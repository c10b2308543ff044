import test from '../harness/test.ts';
import { personalTokens as withTokens } from 'koa-gatehouse';
import type { WithPersonalTokens } from 'koa-gatehouse/types';
import type { ExecutionContext } from 'ava';

import { request } from '../harness/requests.ts';
import { like } from '../harness/like.ts';
import { postSlowly } from '../harness/slow-request.ts';
import { until } from '../harness/until.ts';
import { callTool, connect, GENERATIONS, message, post, startAgentServer, toolOf } from './agents.ts';
import type { AgentServer } from './agents.ts';

async function namesOf(
  t: ExecutionContext,
  server: AgentServer,
  scopes: readonly string[],
): Promise<string[]> {
  const client = await connect(t, server, await server.token(scopes));
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name);
}

const ALL_TOOLS = ['rename_school', 'school_list', 'create_school', 'close_school', 'school_break'];

test('the list has what the user may do, in the order of the actions, also what the scopes of the token exclude', async (t) => {
  const server = await startAgentServer(t);
  // An agent that does not know of a tool calls it never, and so never asks for its scope.
  for (const scopes of [['read'], ['write'], []]) t.deepEqual(await namesOf(t, server, scopes), ALL_TOOLS);
  server.person.permissions = ['view_schools', 'close_schools'];
  t.deepEqual(await namesOf(t, server, ['read']), ['school_list', 'close_school', 'school_break']);
});

test('a client that is not registered for a scope is not told of its tools', async (t) => {
  const server = await startAgentServer(t);
  await server.auth.clients.update(server.clientId, { scopes: ['read', 'close'] });
  t.deepEqual(await namesOf(t, server, ['read']), ['school_list', 'close_school', 'school_break']);
});

test('a tool whose permission another token of the user would have is an HTTP 403 with the scopes', async (t) => {
  const server = await startAgentServer(t);
  const rename = { id: '1', input: { name: 'Dale School' } };
  const token = await server.token(['read']);
  const codes: string[] = [];
  server.auth.observe({
    guarded(outcome) {
      if (!outcome.admitted) codes.push(outcome.code);
    },
  });
  const refused = await callTool(server, token, 'rename_school', rename);
  t.is(refused.status, 403);
  t.deepEqual(codes, ['insufficient_scope'], 'observers are told');
  like(t, refused.body, {
    code: 'insufficient_scope',
    message: 'The access token needs the scope write.',
    permission: 'edit_schools',
    scopes: ['write'],
  });
  t.is(
    refused.headers.get('www-authenticate'),
    `Bearer realm="${server.url}", error="insufficient_scope", error_description="The scopes of the access token exclude a required permission.", ` +
      `scope="write", resource_metadata="${server.origin}/.well-known/oauth-protected-resource/mcp"`,
  );
  t.deepEqual(server.schools.ran, []);

  // One that the action itself asks for.
  const own = await callTool(server, await server.token(['close']), 'close_school', { id: '1' });
  t.is(own.status, 403);
  t.regex(own.headers.get('www-authenticate')!, /error="insufficient_scope".* scope="manage"/);
  t.is(own.body?.['message'], 'The access token needs the scope manage.');
  const both = await server.token(['close', 'manage']);
  t.is((await callTool(server, both, 'close_school', { id: '1' })).status, 200);
});

for (const [revision, mode] of GENERATIONS) {
  test(`${revision}: a tool that no token of the user may call is a result that says what is missing`, async (t) => {
    const server = await startAgentServer(t);
    const token = await server.token(['write']);
    server.person.permissions = ['view_schools'];
    const client = await connect(t, server, token, mode);
    const result = await client.callTool({ name: 'rename_school', arguments: {} });
    t.true(result.isError);
    t.deepEqual(result.content, [{ type: 'text', text: 'Missing permission to edit schools.' }]);
    t.deepEqual(server.schools.ran, []);
  });
}

test('without a token, with a wrong one, or with one in the query: 401 with the way to a token', async (t) => {
  const server = await startAgentServer(t);
  const list = message('tools/list');
  const metadata = `scope="read write close manage", resource_metadata="${server.origin}/.well-known/oauth-protected-resource/mcp"`;
  const missing = await post(server, undefined, list);
  t.is(missing.status, 401);
  t.is(missing.headers.get('www-authenticate'), `Bearer realm="${server.url}", ${metadata}`);

  const wrong = await post(server, 'wrong', list);
  t.is(wrong.status, 401);
  t.true(wrong.headers.get('www-authenticate')!.endsWith(metadata));

  const token = await server.token();
  const inQuery = await post({ url: `${server.url}?access_token=${token}` }, token, list);
  t.is(inQuery.status, 401);
  t.is(inQuery.body?.['code'], 'token_misplaced');
});

test('tokens of the API are refused at the endpoint, and those of the endpoint at the API', async (t) => {
  const server = await startAgentServer(t);
  const ofEndpoint = await server.token();
  const ofApi = await server.auth.issueToken({
    clientId: server.clientId,
    userId: server.person.id,
    scopes: ['read'],
  });
  t.is((await post(server, ofApi, message('tools/list'))).status, 401);
  t.is((await request(`${server.origin}/api/v1/identity`, ofEndpoint)).status, 401);
  t.is((await request(`${server.origin}/api/v1/identity`, ofApi)).status, 200);
});

test('a personal access token of the endpoint calls its tools, until it is ended; one of the API is refused', async (t) => {
  const server = await startAgentServer(t, {
    options: { features: [withTokens()], tokens: { revocationLag: 1 } },
  });
  const { personalTokens } = server.auth as typeof server.auth & WithPersonalTokens;
  const given = { userId: 'ann', name: 'Agent', lifetime: '1 day', scopes: ['read'] } as const;
  const ofApi = await personalTokens.create(given);
  t.is((await post(server, ofApi.value, message('tools/list'))).status, 401);
  const { id, value } = await personalTokens.create({ ...given, resource: server.url });
  const client = await connect(t, server, value);
  const { tools } = await client.listTools();
  t.deepEqual(
    tools.map(({ name }) => name),
    ['school_list', 'school_break'],
    'nobody can ask for more scopes of it',
  );
  const rename = ['rename_school', { id: '1', input: { name: 'Dale School' } }] as const;
  t.like(await callTool(server, value, ...rename), { status: 403, body: { code: 'insufficient_scope' } });
  t.is((await callTool(server, value, 'school_list', {})).status, 200);
  t.deepEqual(server.schools.ran, ['list']);
  await personalTokens.revoke(id);
  t.like(await callTool(server, value, 'school_list', {}), { status: 401, body: { code: 'token_invalid' } });
});

test('a message that arrives after the end of its token is refused, and no tool is called', async (t) => {
  const server = await startAgentServer(t, { options: { features: [withTokens()] } });
  const { schools, url } = server;
  const auth = server.auth as typeof server.auth & WithPersonalTokens;
  const given = { userId: 'ann', name: 'Agent', lifetime: '1 day', resource: url, scopes: ['read'] } as const;
  const headers = { accept: 'application/json, text/event-stream' };
  const call = { name: 'school_list', arguments: {} };
  const ofClient2026 = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': call.name,
  };
  const sent: [revision: string, message: object, headers: Record<string, string>][] = [
    ['2026-07-28', message('tools/call', call), ofClient2026],
    ['2025-11-25', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }, {}],
    ['a list', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, {}],
  ];

  async function begin(token: string, [, body, fields]: (typeof sent)[number]) {
    let admitted = false;
    const stop = auth.observe({ guarded: (outcome) => (admitted ||= outcome.admitted) });
    const finish = postSlowly(url, body, { ...headers, ...fields, authorization: `Bearer ${token}` });
    await until(() => admitted);
    stop();
    return finish;
  }

  for (const one of sent) {
    const token = await server.token();
    const ended = await begin(token, one);
    await auth.revoke({ token });
    t.like(await ended(), { status: 401, body: { code: 'token_revoked' } }, one[0]);

    const { id, value } = await auth.personalTokens.create(given);
    const ofPerson = await begin(value, one);
    await auth.personalTokens.revoke(id);
    const answer = await ofPerson();
    t.like(answer, { status: 401, body: { code: 'token_invalid' } }, one[0]);
    t.regex(answer.headers['www-authenticate'] ?? '', /resource_metadata=/, one[0]);
  }
  t.deepEqual(schools.ran, []);
  const goesOn = await begin(await server.token(), sent[0]!);
  t.is((await goesOn()).status, 200);
  t.deepEqual(schools.ran, ['list']);
});

test('a call that waits for an earlier one with its key, and whose token ends meanwhile, is an HTTP 401', async (t) => {
  const began = Promise.withResolvers<void>();
  const held = Promise.withResolvers<never>();
  let ran = 0;
  const server = await startAgentServer(t, {
    schools: toolOf(async () => {
      ran += 1;
      began.resolve();
      return held.promise;
    }),
  });
  const args = { idempotencyKey: 'one' };
  const first = callTool(server, await server.token(), 'school_try', args);
  await began.promise;
  const token = await server.token();
  let waits = false;
  const stop = server.auth.observe({ guarded: () => (waits = true) });
  const second = callTool(server, token, 'school_try', args);
  await until(() => waits);
  stop();
  await server.auth.revoke({ token });
  held.reject(new Error('the first one fails'));
  await first;
  const answer = await second;
  t.like(answer, { status: 401, body: { code: 'token_revoked' } });
  t.is(ran, 1);
});
