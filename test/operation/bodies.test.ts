import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import Koa from 'koa';
import { z } from 'zod';

import { listenerOf, startPlatform } from '../harness/platform.ts';
import type { AppParts, Platform } from '../harness/platform.ts';
import { requestsInProgress } from '../harness/requests-in-progress.ts';
import { around } from '../harness/storage.ts';
import { Wire } from '../harness/wire.ts';
import type { WireAnswer } from '../harness/wire.ts';

const FORM = 'application/x-www-form-urlencoded';
const BULK = '/api/v1/actions/school/count-schools-action/bulk';
const MEBIBYTE = 1024 * 1024;

const count = defineAction({
  type: 'school',
  name: 'count-schools-action',
  level: 'collection',
  title: 'Count the schools',
  permission: 'view_schools',
  input: z.object({}),
  output: z.object({ count: z.number() }),
  run: () => ({ count: 1 }),
});

const withAction = ({ auth }: AppParts): RequestListener => {
  const app = new Koa();
  app.silent = true;
  const api = createApiRouter({ auth, actions: [count] });
  api.post('/own', async (ctx) => {
    let size = 0;
    for await (const chunk of ctx.req as AsyncIterable<Buffer>) size += chunk.length;
    ctx.body = { size };
  });
  app.use(auth.middleware()).use(api.routes());
  return listenerOf(app);
};

async function startBulk(
  options: Pick<AuthServerOptions, 'bodyTimeout' | 'maxBodyBytes' | 'maxRequests'>,
): Promise<{ platform: Platform; token: string; fields: Record<string, string> }> {
  const platform = await startPlatform(options, { app: withAction });
  const { client, secret } = await platform.registerService(['view_schools']);
  const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const { body } = await platform.token(fields);
  return { platform, token: body.access_token, fields };
}

/** Opens connections and begins a POST on each, whose body lacks its last byte. */
async function beginAll(
  t: ExecutionContext,
  origin: string,
  {
    body,
    headers,
    path,
    wires: many,
  }: { body: string; headers: Record<string, string>; path: string; wires: number },
): Promise<Wire[]> {
  const wires: Wire[] = [];
  t.teardown(() => {
    for (const wire of wires) wire.close();
  });
  for (let index = 0; index < many; index += 1) {
    const wire = await Wire.open(origin);
    wires.push(wire);
    wire.post(path, body.slice(0, -1), { ...headers, 'Content-Length': String(body.length) });
  }
  return wires;
}

/** How often each status came. */
function tally(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** A bulk of one item, as large as it has to be. */
function bulkOf(size: number): string {
  return '{"items":[{}]}'.padEnd(size);
}

test('a request counts from its first byte on: of 200 that wait for their last one, no more run than may', async (t) => {
  let running = 0;
  let most = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name !== 'clients.find') return call();
    most = Math.max(most, (running += 1));
    await new Promise(setImmediate);
    running -= 1;
    return call();
  });
  await using platform = await startPlatform({ storage, maxRequests: 20, throttling: false });
  const wires = await beginAll(t, platform.origin, {
    path: '/oauth/token',
    wires: 200,
    headers: { 'Content-Type': FORM },
    body: `grant_type=client_credentials&client_id=${crypto.randomUUID()}&client_secret=x`,
  });
  t.true((await requestsInProgress(platform.auth)) <= 20);
  for (const wire of wires) wire.write('x');
  const statuses = await Promise.all(wires.map(async (wire) => (await wire.answer()).status));
  const answered = tally(statuses);
  t.true(answered[401]! <= 20 && answered[503]! > 0, JSON.stringify(answered));
  // Those that have waited for a second make way for those that come later.
  t.deepEqual(
    Object.keys(answered).filter((status) => !['401', '408', '503'].includes(status)),
    [],
  );
  t.true(most <= 20, String(most));
  t.is(await requestsInProgress(platform.auth), 0);
});

test('bodies that drip make way for requests that come at once', async (t) => {
  // They are given up because others come, and not for their own time.
  await using platform = await startPlatform({ maxRequests: 20, bodyTimeout: '10 minutes' });
  const { client, secret } = await platform.registerService();
  const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const begun = performance.now();
  const wires = await beginAll(t, platform.origin, {
    path: '/oauth/token',
    wires: 20,
    headers: { 'Content-Type': 'application/json' },
    body: ' '.repeat(50_000),
  });
  const { status: first } = await platform.token(fields);
  // On a machine that took longer to come here, their second may be over.
  if (performance.now() - begun < 1000) t.is(first, 503, 'a second is theirs');
  const tenTokens = async (): Promise<boolean> => {
    const answers = await Promise.all(Array.from({ length: 10 }, async () => platform.token(fields)));
    return answers.every(({ status }) => status === 200);
  };
  while (!(await tenTokens())) await delay(50);
  const { status, headers, body } = await wires[0]!.answer();
  t.is(status, 408);
  t.is(headers.get('connection'), 'close');
  t.deepEqual(JSON.parse(body), {
    error: 'invalid_request',
    error_description: 'The body was not received in time.',
  });
  for (const wire of wires) wire.close();
  while ((await requestsInProgress(platform.auth)) > 0) await new Promise(setImmediate);
});

test('a body that does not arrive in time is given up, at every endpoint that waits for one', async (t) => {
  const { platform, token } = await startBulk({ bodyTimeout: '1 second' });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const authorization = `Bearer ${token}`;
  const cases = [
    ['/oauth/token', FORM, /The body was not received in time\./],
    ['/oauth/revoke', 'application/json', /The body was not received in time\./],
    ['/oauth/login', FORM, /The form was not received in time\./],
    [
      '/api/v1/actions/school/count-schools-action',
      'application/json',
      /"The body was not received in time\."/,
    ],
    [BULK, 'application/json', /"The body was not received in time\."/],
    ['/api/v1/own', 'application/json', /"The body was not received in time\."/],
    ['/api/v1/own', FORM, /"The body was not received in time\."/],
    ['/api/v1/own', 'multipart/form-data; boundary=x', /"The body was not received in time\."/],
    // The route reads it, and knows of no time: the connection ends.
    ['/api/v1/own', 'text/csv', undefined],
  ] as const;
  const given = cases.map(async ([path, type, said]) => {
    const [wire] = await beginAll(t, platform.origin, {
      path,
      wires: 1,
      headers: { 'Content-Type': type, Authorization: authorization, Origin: platform.origin },
      body: 'x'.repeat(1000),
    });
    if (said) {
      const { status, headers, body } = await wire!.answer();
      t.is(status, 408, path);
      t.is(headers.get('connection'), 'close', path);
      t.regex(body, said, path);
    }
    await wire!.closed().catch(() => {});
  });
  await Promise.all(given);
  while ((await requestsInProgress(platform.auth)) > 0) await new Promise(setImmediate);
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

test('of 250 large bodies that lack one byte, those wait that there is room for, and all of it is given back', async (t) => {
  const { platform, token } = await startBulk({ maxBodyBytes: 8 * MEBIBYTE });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const size = MEBIBYTE;
  for (let round = 0; round < 2; round += 1) {
    const wires = await beginAll(t, platform.origin, { path: BULK, wires: 250, headers, body: bulkOf(size) });
    const refused: WireAnswer[] = [];
    const accepted = new Set(wires);
    const answers = wires.map(async (wire) => {
      const answer = await wire.answer();
      if (answer.status === 503) refused.push(answer);
      if (answer.status === 503) accepted.delete(wire);
      return answer.status;
    });
    while (refused.length < 242) await new Promise(setImmediate);
    for (const answer of refused) {
      t.is(answer.headers.get('retry-after'), '1');
      t.is(answer.headers.get('connection'), 'keep-alive');
      t.like(JSON.parse(answer.body), {
        code: 'temporarily_unavailable',
        detail: 'The server cannot accept a body of this size at the moment. Send the request again later.',
      });
    }
    t.is(await requestsInProgress(platform.auth), 8);
    t.is((await platform.api('/identity', token)).status, 200, 'what has a small body or none goes on');
    for (const wire of accepted) wire.write(' ');
    t.deepEqual(tally(await Promise.all(answers)), { 200: 8, 503: 242 });
  }
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

test('the files that are sent to a route of the host take room as well', async (t) => {
  const { platform, token } = await startBulk({ maxBodyBytes: MEBIBYTE });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const headers = {
    'Content-Type': 'multipart/form-data; boundary=x',
    Authorization: `Bearer ${token}`,
  };
  const body = `--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n`.concat(
    'y'.repeat(MEBIBYTE / 2),
    '\r\n--x--\r\n',
  );
  const wires = await beginAll(t, platform.origin, { path: '/api/v1/own', wires: 3, headers, body });
  const statuses = wires.map(async (wire) => (await wire.answer()).status);
  t.is(await Promise.race(statuses), 503);
  while ((await requestsInProgress(platform.auth)) > 1) await new Promise(setImmediate);
  for (const wire of wires) wire.write('\n');
  t.deepEqual(tally(await Promise.all(statuses)), { 200: 1, 503: 2 });
});

test('a body of unknown length takes room as it arrives, and one that is larger than all of it is too large', async (t) => {
  const { platform, token } = await startBulk({ maxBodyBytes: MEBIBYTE });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  // Byte by byte: an HTTP client that still sends when it is refused does not look at the answer.
  const chunked = async (size: number): Promise<number> => {
    const wire = await Wire.open(platform.origin);
    const fields = Object.entries({ ...headers, 'Transfer-Encoding': 'chunked', Host: 'wire' });
    wire.write(`POST ${BULK} HTTP/1.1\r\n${fields.map((field) => `${field.join(': ')}\r\n`).join('')}\r\n`);
    wire.write(`${size.toString(16)}\r\n${bulkOf(size)}\r\n0\r\n\r\n`);
    const { status } = await wire.answer();
    wire.close();
    return status;
  };
  const known = { path: BULK, wires: 1, headers };
  t.is(await chunked(MEBIBYTE), 200);
  const [half] = await beginAll(t, platform.origin, { ...known, body: bulkOf(MEBIBYTE / 2) });
  while ((await requestsInProgress(platform.auth)) === 0) await new Promise(setImmediate);
  t.is(await chunked(MEBIBYTE / 4), 200);
  t.is(await chunked(MEBIBYTE), 503);
  half!.write(' ');
  t.is((await half!.answer()).status, 200);
  t.is(await chunked(MEBIBYTE), 200);
  const [large] = await beginAll(t, platform.origin, { ...known, body: bulkOf(MEBIBYTE + 1) });
  t.is((await large!.answer()).status, 413);
  t.is(await chunked(2 * MEBIBYTE), 413);
  while ((await requestsInProgress(platform.auth)) > 0) await new Promise(setImmediate);
});

test('limits that are none are refused at start', async (t) => {
  await t.throwsAsync(startPlatform({ bodyTimeout: 0 }), {
    code: 'ERR_CONFIG',
    message: /^bodyTimeout: .*at least 1 s$/,
  });
  await t.throwsAsync(startPlatform({ maxBodyBytes: -1 }), {
    code: 'ERR_CONFIG',
    message: 'maxBodyBytes: give a whole number, such as 1000, or 0 for any number',
  });
});
