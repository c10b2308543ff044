import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { stderrLogger } from '../../../lib/options/stderr-logger.ts';
import { startPlatform } from '../../harness/platform.ts';
import type { Mounting, Platform } from '../../harness/platform.ts';
import { postJson } from '../../harness/requests.ts';
import { RawConnection } from '../../harness/raw-connection.ts';
import { endWith } from '../../harness/serve.ts';

/** Records what is printed until the test ends. */
function printed(t: ExecutionContext): string[] {
  const { warn, error } = console;
  const lines: string[] = [];
  const record = (text: string): void => void lines.push(...text.split('\n'));
  Object.assign(console, { warn: record, error: record });
  t.teardown(() => Object.assign(console, { warn, error }));
  return lines;
}

/** Starts a server without the option `logger` until the test ends. Resolves to it, and to the header with a token for its API. */
async function startWithoutLogger(
  t: ExecutionContext,
  mounting?: Mounting,
): Promise<{ platform: Platform; authorization: string }> {
  const platform = endWith(t, await startPlatform({ logger: undefined }, mounting));
  const { client } = await platform.registerService();
  return { platform, authorization: `Bearer ${await platform.auth.issueToken({ clientId: client.id })}` };
}

test.serial('an error is one line with time and level, with its stack indented below', async (t) => {
  const lines = printed(t);
  const { platform, authorization } = await startWithoutLogger(t, {
    routes: (api) =>
      api.post('/fail', () => {
        throw new Error('the database is full\n2026-01-01T00:00:00.000Z ERROR forged');
      }),
  });
  await postJson(platform.url('/api/v1/fail'), {}, { authorization });
  t.regex(
    lines[0]!,
    /^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR api request failed request_id=[\w-]+ method=POST path=\/api\/v1\/fail$/,
  );
  t.is(lines[1], '  Error: the database is full');
  t.is(lines[2], '  2026-01-01T00:00:00.000Z ERROR forged');
  t.regex(lines[3]!, /^ +at .*stderr-logger\.test\.ts/);
  t.true(lines.slice(1).every((line) => line.startsWith('  ')));
});

test.serial('an error with a 4xx status is one line without its stack', (t) => {
  const lines = printed(t);
  const err = Object.assign(new Error('no such page'), { status: 404 });
  stderrLogger.error({ err, count: 2, reason: 'a b' }, 'page failed');
  t.is(lines.length, 1);
  t.regex(lines[0]!, /^\S+Z ERROR page failed count=2 reason="a b" err="no such page"$/);
});

test.serial(
  'refused requests are printed outside of production, and nothing else of that level',
  async (t) => {
    const lines = printed(t);
    const { platform } = await startWithoutLogger(t);
    const { NODE_ENV } = process.env;
    t.teardown(() => {
      if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
      else process.env['NODE_ENV'] = NODE_ENV;
    });
    const service = await platform.registerService();
    const parameters = { grant_type: 'client_credentials', client_id: service.client.id };
    for (const [env, printing] of [
      ['production', 0],
      ['development', 1],
    ] as const) {
      process.env['NODE_ENV'] = env;
      lines.length = 0;
      t.is((await platform.token({ ...parameters, client_secret: service.secret })).status, 200);
      t.is((await platform.token({ ...parameters, client_secret: 'wrong' })).status, 401);
      t.is(lines.length, printing, env);
    }
    t.regex(
      lines[0]!,
      /^\S+Z INFO token refused request_id=[\w-]+ endpoint=token outcome=refused client_id=\S+ grant_type=client_credentials status=401 error=invalid_client reason="invalid secret provided"/,
    );
  },
);

test.serial('a client that disconnects while sending a body is not logged', async (t) => {
  const lines = printed(t);
  const isRead = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const { platform, authorization } = await startWithoutLogger(t, {
    before: [
      async ({ req }, next) => {
        req.once('resume', isRead.resolve);
        return next().then(ended.resolve, ended.resolve);
      },
    ],
    routes: (api) => api.post('/schools', () => t.fail('the body did not arrive')),
  });
  const connection = await RawConnection.open(platform.origin);
  connection.post('/api/v1/schools', '{', {
    Authorization: authorization,
    'Content-Type': 'application/json',
    'Content-Length': '100',
  });
  await isRead.promise;
  connection.close();
  t.is(await ended.promise, undefined);
  t.deepEqual(lines, []);
});
