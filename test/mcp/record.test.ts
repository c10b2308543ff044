import { randomUUID } from 'node:crypto';

import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { authorize, disconnect, platformOf } from '../harness/platform.ts';
import { callTool, createOverHttp, startAgentServer } from './agents.ts';

test('each call of a tool is recorded, with the tool, the object and what went wrong', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token(['write']);
  const input = { name: 'Dale School' };
  const renamed = await callTool(server, token, 'rename_school', { id: '1', input });
  await callTool(server, token, 'rename_school', { id: '9', input });
  await callTool(server, token, 'create_school', { input: {} });
  await callTool(server, token, 'school_break');
  await callTool(server, token, 'school_list');
  // Nothing is run.
  await callTool(server, token, 'close_school', { id: '1' });
  await callTool(server, token, 'rename_school', {});

  const records = await server.auth.audit.list({ types: ['tool_called', 'tool_read'] });
  const caller = {
    type: 'tool_called',
    clientId: server.clientId,
    userId: 'ann',
    resource: server.url,
  } as const;
  const withoutOrigin = records.map(
    ({ address: _address, at: _at, id: _id, requestId: _requestId, ...event }) => event,
  );
  t.deepEqual(withoutOrigin, [
    { ...caller, type: 'tool_read', tool: 'school_list', action: 'school/list-action' },
    { ...caller, tool: 'school_break', action: 'school/break-action', error: 'internal_error' },
    {
      ...caller,
      type: 'tool_read',
      tool: 'create_school',
      action: 'school/create-school-action',
      error: 'input_invalid',
    },
    {
      ...caller,
      tool: 'rename_school',
      action: 'school/rename-school-action',
      objectId: '9',
      error: 'school_not_found',
    },
    { ...caller, tool: 'rename_school', action: 'school/rename-school-action', objectId: '1' },
  ]);
  t.like(records.at(-1), {
    address: '127.0.0.1',
    requestId: renamed.headers.get('x-request-id')!,
  });
});

test('a repeated call is recorded once, and a run of the API is not a call of a tool', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const call = { input: { name: 'Dale School' }, idempotencyKey: randomUUID() };
  await callTool(server, token, 'create_school', call);
  await callTool(server, token, 'create_school', call);
  t.is((await createOverHttp(server, { name: 'Moor School' })).status, 200);
  t.is((await server.auth.audit.list({ types: ['tool_called'] })).length, 1);
});

test('the user sees on the page of connected apps which tools an agent has called, and disconnects it', async (t) => {
  const server = await startAgentServer(t);
  const browser = new Browser();
  const platform = platformOf(server.auth as never, { origin: server.origin, path: '' });
  const client = (await server.auth.clients.find(server.clientId))!;
  await authorize(
    platform,
    { client, redirectUri: client.redirectUris[0]! },
    { browser, parameters: { resource: server.url, scope: 'read write', ...pkce().parameters } },
  );

  const list = `${server.origin}/account/apps`;
  t.false((await browser.open(list)).text.includes('What it did lately'));
  const token = await server.token(['write']);
  await callTool(server, token, 'school_list');
  await callTool(server, token, 'rename_school', { id: '1', input: { name: 'Dale School' } });
  await callTool(server, token, 'rename_school', { id: '2', input: { name: 'Moor School' } });
  const page = await browser.open(list);
  t.regex(page.text, /What it did lately: rename_school [^_]+ UTC school_list [^_]+ UTC Dates are in UTC\.$/);

  // More than are read: what it has changed is still there.
  for (let count = 0; count < 200; count += 1) await callTool(server, token, 'school_list');
  t.regex(
    (await browser.open(list)).text,
    /What it did lately: school_list [^_]+ UTC rename_school [^_]+ UTC Dates are in UTC\.$/,
  );

  await disconnect(browser, page);
  t.is((await callTool(server, token, 'school_list')).status, 401);
});
