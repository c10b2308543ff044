import test from '../harness/test.ts';

import { ActionError } from 'koa-gatehouse';

import { requestsInProgress } from '../harness/requests-in-progress.ts';
import { callTool, connect, createOverHttp, message, post, startAgentServer, toolOf } from './agents.ts';

const MINUTE = '1 minute';

test('calls over the limit of their action are 429, and are counted together with the runs of the API', async (t) => {
  const limits = { action: { requests: 2, window: MINUTE } } as const;
  const server = await startAgentServer(t, { limits });
  const token = await server.token();
  const create = async (name: string) => callTool(server, token, 'create_school', { input: { name } });
  const withoutPermission = await server.token(['read']);
  t.is((await callTool(server, withoutPermission, 'create_school')).status, 403, 'which is not counted');
  const first = await create('Dale School');
  t.is(first.status, 200);
  t.is(first.headers.get('ratelimit-policy'), '"school/create-school-action";q=2;w=60');
  // A busy machine takes some of the seconds.
  t.regex(first.headers.get('ratelimit')!, /^"school\/create-school-action";r=1;t=(?:60|[45]\d)$/);

  t.is((await createOverHttp(server, { name: 'Moor School' })).status, 200);
  const refused = await create('Lake School');
  t.is(refused.status, 429);
  t.is(refused.body?.['code'], 'too_many_requests');
  t.regex(refused.headers.get('retry-after')!, /^(?:60|[345]\d)$/);
  t.deepEqual(server.schools.ran, ['create', 'create']);

  // Another tool has a limit of its own, and the list has none.
  t.is((await callTool(server, token, 'school_list')).status, 200);
  t.is((await post(server, token, message('tools/list'))).status, 200);
});

test('the messages of a user are limited, whatever they are', async (t) => {
  const server = await startAgentServer(t, { limits: { user: { requests: 3, window: MINUTE } } });
  const token = await server.token();
  const client = await connect(t, server, token);
  await client.listTools();
  await client.callTool({ name: 'school_list', arguments: {} });
  const refused = await post(server, token, message('tools/list'));
  t.is(refused.status, 429);
  t.is(refused.headers.get('ratelimit-policy'), '"user";q=3;w=60');
});

test('messages count as requests: over limits.concurrency they are 503, and close() waits for those that run', async (t) => {
  const began = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const schools = toolOf(async () => {
    began.resolve();
    await released.promise;
    return 'done';
  });
  const server = await startAgentServer(t, { schools, options: { limits: { concurrency: 1 } } });
  const token = await server.token();
  const running = callTool(server, token, 'school_try');
  await began.promise;
  t.is(await requestsInProgress(server.auth), 1);
  const refused = async (detail: string) => {
    const { body, headers, status } = await post(server, token, message('tools/list'));
    t.is(status, 503);
    t.is(headers.get('retry-after'), '1');
    t.like(body, { code: 'temporarily_unavailable', detail });
  };
  await refused('The server has too many requests at the moment. Try again later.');

  let isClosed = false;
  const closing = server.auth.close().finally(() => {
    isClosed = true;
  });
  await refused('The server is stopping. Send the request again.');
  t.false(isClosed);
  released.resolve();
  const { body, status } = await running;
  t.is(status, 200);
  t.like(body, { result: { structuredContent: 'done' } });
  await closing;
});

test('a 429 of the action itself is an HTTP response, with its header fields', async (t) => {
  const detail = 'The school was renamed a minute ago.';
  const thrown = { status: 429, expose: true, code: 'too_soon', headers: { 'Retry-After': '60' } };
  for (const [error, retryAfter] of [
    [new ActionError(429, 'too_soon', detail), null],
    [Object.assign(new Error(detail), thrown), '60'],
  ] as const) {
    const schools = toolOf(() => {
      throw error;
    });
    const server = await startAgentServer(t, { schools });
    const refused = await callTool(server, await server.token(), 'school_try');
    t.is(refused.status, 429);
    t.is(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8');
    t.is(refused.headers.get('retry-after'), retryAfter);
    t.like(refused.body, { code: 'too_soon', message: detail });
  }
});
