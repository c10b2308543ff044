import { randomUUID } from 'node:crypto';

import test from '../harness/test.ts';

import { like } from '../harness/like.ts';
import { callTool, createOverHttp, startAgentServer } from './agents.ts';

test('a call with the key of an earlier one gets its result, and is done once', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const call = { input: { name: 'Dale School' }, idempotencyKey: randomUUID() };
  const answers = await Promise.all(
    [1, 2, 3].map(async () => callTool(server, token, 'create_school', call)),
  );
  for (const { body } of answers) {
    t.like(body, { result: { structuredContent: { id: '3', name: 'Dale School' } } });
  }
  t.deepEqual(server.schools.ran, ['create']);
});

test('the same key with another call is refused', async (t) => {
  const server = await startAgentServer(t);
  const token = await server.token();
  const idempotencyKey = randomUUID();
  const input = { name: 'Dale School' };
  await callTool(server, token, 'rename_school', { id: '1', input, idempotencyKey });
  const text = 'This Idempotency-Key was sent with another request before. Make a new key for each request.';
  for (const [name, given] of [
    ['rename_school', { id: '1', input: { name: 'Moor School' } }],
    ['rename_school', { id: '2', input }],
    ['create_school', { input }],
  ] as const) {
    const { body } = await callTool(server, token, name, { ...given, idempotencyKey });
    like(t, body, { result: { isError: true, content: [{ text }] } });
  }
  // Keys are those of the user and the client, whichever interface they are sent to.
  const overHttp = await createOverHttp(server, input, { 'idempotency-key': idempotencyKey });
  t.is(overHttp.status, 409);
  t.is(overHttp.body?.['code'], 'idempotency_key_reused');
  t.deepEqual(server.schools.ran, ['rename']);
});

test('the error of an action is repeated too, and a step-up is not', async (t) => {
  const server = await startAgentServer(t);
  const wrong = { id: '9', input: { name: 'Dale School' }, idempotencyKey: randomUUID() };
  const token = await server.token();
  for (const _ of [1, 2]) {
    like(t, (await callTool(server, token, 'rename_school', wrong)).body, {
      result: { isError: true, content: [{ text: 'There is no school with this id.' }] },
    });
  }
  t.deepEqual(server.schools.ran, ['rename']);

  const close = { id: '1', idempotencyKey: randomUUID() };
  t.is((await callTool(server, await server.token(['close']), 'close_school', close)).status, 403);
  const repeated = await callTool(server, await server.token(['close', 'manage']), 'close_school', close);
  t.like(repeated.body, { result: { structuredContent: { id: '1' } } });
});
