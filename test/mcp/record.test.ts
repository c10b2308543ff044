import { randomUUID } from 'node:crypto';

import test from 'ava';

import { Browser } from '../harness/browser.ts';
import { stopClock } from '../harness/clock.ts';
import { postJson } from '../harness/requests.ts';
import { callTool, startAgentServer } from './agents.ts';

test('each call of a tool is recorded, with the tool, the object and what went wrong', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token(['write']);
  const input = { name: 'Dale School' };
  const renamed = await callTool(server, token, 'rename_school', { id: '1', input });
  await callTool(server, token, 'rename_school', { id: '9', input });
  await callTool(server, token, 'create_school', { input: {} });
  await callTool(server, token, 'school_break');
  // Nothing is run.
  await callTool(server, token, 'close_school', { id: '1' });
  await callTool(server, token, 'rename_school', {});

  const records = await server.auth.audit.list({ types: ['tool_called'] });
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
    { ...caller, tool: 'school_break', action: 'school/break-action', error: 'internal_error' },
    {
      ...caller,
      tool: 'create_school',
      action: 'school/create-school-action',
      error: 'input_invalid',
      readOnly: true,
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

// Stops the clock.
test.serial('a call that changes something is recorded after any number of calls that do not', async (t) => {
  using _stopped = stopClock();
  const server = await startAgentServer(t);
  const token = await server.token(['write']);
  for (let round = 0; round < 13; round += 1) {
    const flood = Array.from({ length: 100 }, async (_, index) =>
      callTool(server, token, index % 2 === 0 ? 'school_list' : 'create_school', { input: {} }),
    );
    for (const { status } of await Promise.all(flood)) t.is(status, 200);
  }
  await callTool(server, token, 'rename_school', { id: '1', input: { name: 'Dale School' } });
  const [last] = await server.auth.audit.list({ types: ['tool_called'], limit: 1 });
  t.like(last, { tool: 'rename_school', objectId: '1', userId: 'ann' });
  t.deepEqual(server.schools.ran.at(-1), 'rename');
  await server.auth.audit.flush();
  t.true(server.logger.lines.some(({ message }) => message === 'audit events dropped: too many'));
});

test('a repeated call is recorded once, and a run of the API is not a call of a tool', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const call = { input: { name: 'Dale School' }, idempotencyKey: randomUUID() };
  await callTool(server, token, 'create_school', call);
  await callTool(server, token, 'create_school', call);
  const created = await postJson(
    `${server.origin}/api/v1/actions/school/create-school-action`,
    { name: 'Moor School' },
    { authorization: `Bearer ${await server.auth.issueToken({ client: server.clientId, user: 'ann' })}` },
  );
  t.is(created.status, 200);
  t.is((await server.auth.audit.list({ types: ['tool_called'] })).length, 1);
});

test('the user sees on the page of connected apps which tools an agent has called, and disconnects it', async (t) => {
  const server = await startAgentServer(t);
  const browser = new Browser();
  const authorize = new URL(`${server.origin}/oauth/authorize`);
  authorize.search = String(
    new URLSearchParams({
      client_id: server.clientId,
      redirect_uri: 'https://agent.example/callback',
      response_type: 'code',
      resource: server.url,
      scope: 'read write',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    }),
  );
  let page = await browser.open(authorize);
  page = await browser.follow(
    await browser.submit(page, 'Sign in', { login: 'ann@school.example', password: 'correct horse' }),
  );
  await browser.submit(page, 'Authorize');

  const list = `${server.origin}/account/apps`;
  t.false((await browser.open(list)).text.includes('What it did lately'));
  const token = await server.token(['write']);
  await callTool(server, token, 'school_list');
  await callTool(server, token, 'rename_school', { id: '1', input: { name: 'Dale School' } });
  await callTool(server, token, 'rename_school', { id: '2', input: { name: 'Moor School' } });
  page = await browser.open(list);
  t.regex(page.text, /What it did lately: rename_school [^_]+ UTC school_list [^_]+ UTC$/);

  const link = /href="([^"]+\/disconnect)"/.exec(page.html)![1]!;
  await browser.submit(await browser.open(new URL(link, page.url)), 'Disconnect');
  t.is((await callTool(server, token, 'school_list')).status, 401);
});
