import test from 'ava';
import type { ExecutionContext } from 'ava';

import { request } from '../access/serve.ts';
import { like } from '../harness/like.ts';
import { callTool, connect, GENERATIONS, message, post, startAgentServer } from './agents.ts';
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

test('the list has only what the token may call, in the order of the actions', async (t) => {
  const server = await startAgentServer(t);
  t.deepEqual(await namesOf(t, server, ['read']), ['school_list', 'school_break']);
  t.deepEqual(await namesOf(t, server, ['close', 'read']), ['school_list', 'close_school', 'school_break']);
  const ofWriter = ['rename_school', 'school_list', 'create_school', 'school_break'];
  t.deepEqual(await namesOf(t, server, ['write']), ofWriter);
  // A token without scopes has all permissions of its user.
  t.is((await namesOf(t, server, [])).length, 5);
});

test('a tool whose permission another token of the user would have is an HTTP 403 with the scopes', async (t) => {
  const server = await startAgentServer(t);
  const rename = { id: '1', input: { name: 'Dale School' } };
  const refused = await callTool(server, await server.token(['read']), 'rename_school', rename);
  t.is(refused.status, 403);
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
    client: server.clientId,
    user: server.person.id,
    scopes: ['read'],
  });
  t.is((await post(server, ofApi, message('tools/list'))).status, 401);
  t.is((await request(`${server.origin}/api/v1/identity`, ofEndpoint)).status, 401);
  t.is((await request(`${server.origin}/api/v1/identity`, ofApi)).status, 200);
});

test('a personal access token of the endpoint calls its tools, until it is ended; one of the API is refused', async (t) => {
  const server = await startAgentServer(t, { options: { tokens: { personal: true, revocationLag: 1 } } });
  const { personalTokens } = server.auth;
  const given = { user: 'ann', name: 'Agent', lifetime: '1 day', scopes: ['read'] } as const;
  const ofApi = await personalTokens.create(given);
  t.is((await post(server, ofApi.value, message('tools/list'))).status, 401);
  const { id, value } = await personalTokens.create({ ...given, resource: server.url });
  const client = await connect(t, server, value);
  const { tools } = await client.listTools();
  t.deepEqual(
    tools.map(({ name }) => name),
    ['school_list', 'school_break'],
  );
  const rename = ['rename_school', { id: '1', input: { name: 'Dale School' } }] as const;
  t.like(await callTool(server, value, ...rename), { status: 403, body: { code: 'insufficient_scope' } });
  t.is((await callTool(server, value, 'school_list', {})).status, 200);
  t.deepEqual(server.schools.ran, ['list']);
  await personalTokens.revoke(id);
  t.like(await callTool(server, value, 'school_list', {}), { status: 401, body: { code: 'token_invalid' } });
});
