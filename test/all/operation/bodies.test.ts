import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { defineAction } from 'koa-gatehouse';
import type { AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { startPlatform } from '../../harness/platform.ts';
import type { Mounting, Platform } from '../../harness/platform.ts';
import { requestsInProgress, untilIdle } from '../../harness/requests-in-progress.ts';
import { around } from '../../harness/storage.ts';
import { RawConnection } from '../../harness/raw-connection.ts';
import type { RawResponse } from '../../harness/raw-connection.ts';
import { clientToken } from '../../harness/tokens.ts';
import { endWith } from '../../harness/serve.ts';

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

const WITH_ACTION: Mounting = {
  api: { actions: [count] },
  routes: (api) =>
    api.post('/own', async (ctx) => {
      let size = 0;
      for await (const chunk of ctx.req as AsyncIterable<Buffer>) size += chunk.length;
      ctx.body = { size };
    }),
};

async function startBulk(
  t: ExecutionContext,
  limits: NonNullable<AuthServerOptions['limits']>,
): Promise<{ platform: Platform; token: string }> {
  const platform = endWith(t, await startPlatform({ limits }, WITH_ACTION));
  return { platform, token: await clientToken(platform, await platform.registerService(['view_schools'])) };
}

/** Opens connections and sends a POST on each, without the last byte of the body. */
async function beginAll(
  t: ExecutionContext,
  origin: string,
  {
    body,
    headers,
    path,
    connections: many,
  }: { body: string; headers: Record<string, string>; path: string; connections: number },
): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  t.teardown(() => {
    for (const connection of connections) connection.close();
  });
  for (let index = 0; index < many; index += 1) {
    const connection = await RawConnection.open(origin);
    connections.push(connection);
    connection.post(path, body.slice(0, -1), { ...headers, 'Content-Length': String(body.length) });
  }
  return connections;
}

/** The number of responses by status. */
function tally(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** A bulk of one item, padded to a size. */
function bulkOf(size: number): string {
  return '{"items":[{}]}'.padEnd(size);
}

test('requests count before their bodies are complete: of 60, at most limits.concurrency are accepted', async (t) => {
  let running = 0;
  let most = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name !== 'clients.find') return call();
    most = Math.max(most, (running += 1));
    await new Promise(setImmediate);
    running -= 1;
    return call();
  });
  await using platform = await startPlatform({ storage, limits: { concurrency: 20, attempts: false } });
  const connections = await beginAll(t, platform.origin, {
    path: '/oauth/token',
    connections: 60,
    headers: { 'Content-Type': FORM },
    body: `grant_type=client_credentials&client_id=${crypto.randomUUID()}&client_secret=x`,
  });
  t.true((await requestsInProgress(platform.auth)) <= 20);
  for (const connection of connections) connection.write('x');
  const statuses = await Promise.all(
    connections.map(async (connection) => (await connection.answer()).status),
  );
  const answered = tally(statuses);
  t.true(answered[401]! <= 20 && answered[503]! > 0, JSON.stringify(answered));
  // A request that has waited for its body for a second is given up when others arrive.
  t.deepEqual(
    Object.keys(answered).filter((status) => !['401', '408', '503'].includes(status)),
    [],
  );
  t.true(most <= 20, String(most));
  t.is(await requestsInProgress(platform.auth), 0);
});

test('a body that does not arrive within bodyTimeout is given up, at every endpoint that reads one', async (t) => {
  const { platform, token } = await startBulk(t, { bodyTimeout: '1 second' });
  const authorization = `Bearer ${token}`;
  const cases = [
    ['/oauth/token', FORM],
    ['/oauth/revoke', 'application/json'],
    ['/oauth/login', FORM],
    ['/api/v1/actions/school/count-schools-action', 'application/json'],
    [BULK, 'application/json'],
    ['/api/v1/own', 'application/json'],
    ['/api/v1/own', FORM],
    ['/api/v1/own', 'multipart/form-data; boundary=x'],
    // The handler reads the stream itself, so the connection is closed.
    ['/api/v1/own', 'text/csv'],
  ] as const;
  const given = cases.map(async ([path, type]) => {
    const [connection] = await beginAll(t, platform.origin, {
      path,
      connections: 1,
      headers: { 'Content-Type': type, Authorization: authorization, Origin: platform.origin },
      body: 'x'.repeat(1000),
    });
    if (type !== 'text/csv') {
      const { status, headers, body } = await connection!.answer();
      t.is(status, 408, path);
      t.is(headers.get('connection'), 'close', path);
      t.regex(body, /The (body|form) was not received in time\./, path);
    }
    await connection!.closed().catch(() => {});
  });
  await Promise.all(given);
  await untilIdle(platform);
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

test('large incomplete bodies are accepted up to limits.maxTotalBodyBytes, which is released when they end', async (t) => {
  const { platform, token } = await startBulk(t, { maxTotalBodyBytes: 8 * MEBIBYTE });
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  for (let round = 0; round < 2; round += 1) {
    const connections = await beginAll(t, platform.origin, {
      path: BULK,
      connections: 30,
      headers,
      body: bulkOf(MEBIBYTE),
    });
    const refused: RawResponse[] = [];
    const accepted = new Set(connections);
    const answers = connections.map(async (connection) => {
      const answer = await connection.answer();
      if (answer.status === 503) {
        refused.push(answer);
        accepted.delete(connection);
      }
      return answer.status;
    });
    while (refused.length < 22) await new Promise(setImmediate);
    for (const answer of refused) {
      t.is(answer.headers.get('retry-after'), '1');
      t.is(answer.headers.get('connection'), 'keep-alive');
      t.like(JSON.parse(answer.body), {
        code: 'temporarily_unavailable',
        detail: 'The server cannot accept a body of this size at the moment. Send the request again later.',
      });
    }
    t.is(await requestsInProgress(platform.auth), 8);
    t.is(
      (await platform.api('/identity', token)).status,
      200,
      'requests with a small body or none are accepted',
    );
    for (const connection of accepted) connection.write(' ');
    t.deepEqual(tally(await Promise.all(answers)), { 200: 8, 503: 22 });
  }
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

test("uploaded files of a host's route count for limits.maxTotalBodyBytes", async (t) => {
  const { platform, token } = await startBulk(t, { maxTotalBodyBytes: MEBIBYTE });
  const headers = {
    'Content-Type': 'multipart/form-data; boundary=x',
    Authorization: `Bearer ${token}`,
  };
  const body = `--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n`.concat(
    'y'.repeat(MEBIBYTE / 2),
    '\r\n--x--\r\n',
  );
  const connections = await beginAll(t, platform.origin, {
    path: '/api/v1/own',
    connections: 3,
    headers,
    body,
  });
  const statuses = connections.map(async (connection) => (await connection.answer()).status);
  t.is(await Promise.race(statuses), 503);
  await untilIdle(platform, 1);
  for (const connection of connections) connection.write('\n');
  t.deepEqual(tally(await Promise.all(statuses)), { 200: 1, 503: 2 });
});

test('a body of unknown length counts as it arrives, and one larger than limits.maxTotalBodyBytes is 413', async (t) => {
  const { platform, token } = await startBulk(t, { maxTotalBodyBytes: MEBIBYTE });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  // On a raw connection: an HTTP client that is still sending may miss the response.
  const chunked = async (size: number): Promise<number> => {
    const connection = await RawConnection.open(platform.origin);
    const fields = Object.entries({ ...headers, 'Transfer-Encoding': 'chunked', Host: 'localhost' });
    connection.write(
      `POST ${BULK} HTTP/1.1\r\n${fields.map((field) => `${field.join(': ')}\r\n`).join('')}\r\n`,
    );
    connection.write(`${size.toString(16)}\r\n${bulkOf(size)}\r\n0\r\n\r\n`);
    const { status } = await connection.answer();
    connection.close();
    return status;
  };
  const known = { path: BULK, connections: 1, headers };
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
  await untilIdle(platform);
});

test('an invalid limit is a ConfigError', async (t) => {
  const notWhole = 'give a whole number of at least 1, or 0 for no limit';
  for (const [limits, message] of [
    [{ bodyTimeout: 0 }, /^limits\.bodyTimeout: .*at least 1 s$/],
    [{ maxTotalBodyBytes: -1 }, `limits.maxTotalBodyBytes: ${notWhole}`],
    ...[-1, 1.5, '10', null].map(
      (requests) => [{ concurrency: requests }, `limits.concurrency: ${notWhole}`] as const,
    ),
  ] as const)
    await t.throwsAsync(startPlatform({ limits: limits as never }), { code: 'ERR_CONFIG', message });
});
