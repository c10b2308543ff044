import test from 'ava';

import { callTool, connect, message, post, startAgentServer } from './agents.ts';
import { postJson } from '../harness/requests.ts';

const MINUTE = '1 minute';

test('calls over the limit of their action are 429, and are counted together with the runs of the API', async (t) => {
  const limits = { action: { requests: 2, per: MINUTE } } as const;
  const server = await startAgentServer(t, { limits });
  const token = await server.token();
  const create = async (name: string) => callTool(server, token, 'create_school', { input: { name } });
  const first = await create('Dale School');
  t.is(first.status, 200);
  t.is(first.headers.get('ratelimit-policy'), '"school/create-school-action";q=2;w=60');
  t.is(first.headers.get('ratelimit'), '"school/create-school-action";r=1;t=60');

  const overHttp = await postJson(
    `${server.origin}/api/v1/actions/school/create-school-action`,
    { name: 'Moor School' },
    { authorization: `Bearer ${await server.auth.issueToken({ client: server.clientId, user: 'ann' })}` },
  );
  t.is(overHttp.status, 200);
  const refused = await create('Lake School');
  t.is(refused.status, 429);
  t.is(refused.body?.['code'], 'too_many_requests');
  t.regex(refused.headers.get('retry-after')!, /^(?:60|59|58)$/);
  t.deepEqual(server.schools.ran, ['create', 'create']);

  // Another tool has a limit of its own, and the list has none.
  t.is((await callTool(server, token, 'school_list')).status, 200);
  t.is((await post(server, token, message('tools/list'))).status, 200);
});

test('the messages of a user are limited, whatever they are', async (t) => {
  const server = await startAgentServer(t, { limits: { user: { requests: 3, per: MINUTE } } });
  const token = await server.token();
  const client = await connect(t, server, token);
  await client.listTools();
  await client.callTool({ name: 'school_list', arguments: {} });
  const refused = await post(server, token, message('tools/list'));
  t.is(refused.status, 429);
  t.is(refused.headers.get('ratelimit-policy'), '"user";q=3;w=60');
});

test('a call without the permission does not count as a run', async (t) => {
  const server = await startAgentServer(t, { limits: { action: { requests: 1, per: MINUTE } } });
  t.is((await callTool(server, await server.token(['read']), 'create_school')).status, 403);
  t.is((await callTool(server, await server.token(), 'create_school')).status, 200);
});
