import { once } from 'node:events';

import test from '../../harness/test.ts';
import { StorageError } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase, postgresql, sqlite } from '../../adapters/databases.ts';
import { startDatabaseProxy } from '../../adapters/database-proxy.ts';
import { runCodeFlow, startPlatform } from '../../harness/platform.ts';
import { start } from '../../adapters/processes.ts';
import { send } from '../../harness/requests.ts';
import { around } from '../../harness/storage.ts';
import { exchangeRefreshToken, requestClientToken } from '../../harness/tokens.ts';
import { until } from '../../harness/until.ts';
import { endWith } from '../../harness/serve.ts';
import { HOST } from '../../operation/host.ts';

/** A storage whose methods a test can replace, and which counts calls of pendingMigrations(). */
function replaceable(): {
  storage: Storage;
  replace: (name: string, call: () => Promise<unknown>) => void;
  callCount: () => number;
} {
  const changed = new Map<string, () => Promise<unknown>>();
  let callCount = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'pendingMigrations') callCount += 1;
    return (changed.get(name) ?? call)();
  });
  return { storage, replace: (name, call) => changed.set(name, call), callCount: () => callCount };
}

test('a server that is ready answers pass, in JSON that is not stored', async (t) => {
  await using platform = await startPlatform({}, HOST);
  t.deepEqual(await platform.auth.ready(), { ready: true });
  for (const path of ['/livez', '/readyz']) {
    const { status, headers, body } = await send(platform.url(path));
    t.is(status, 200, path);
    t.deepEqual(body, { status: 'pass' }, path);
    t.is(headers.get('content-type'), 'application/health+json; charset=utf-8', path);
    t.is(headers.get('cache-control'), 'no-store', path);
    t.is(headers.get('x-content-type-options'), 'nosniff', path);
    const head = await send(platform.url(path), { method: 'HEAD' });
    t.is(head.status, 200);
    t.is(head.text, '');
    t.is((await send(platform.url(path), { method: 'POST' })).text, 'the host’s', path);
  }
  t.is((await send(platform.url('/livez/more'))).text, 'the host’s');
});

test('a server that is not ready answers with a keyword, never with the cause', async (t) => {
  const cases: [string, () => Promise<unknown>, string][] = [
    ['pendingMigrations', async () => ['0003-secret'], 'migrations_pending'],
    ['keys.list', async () => [], 'keys_missing'],
    [
      'keys.list',
      async () => Promise.reject(new StorageError('connect postgres://app:password@db/app')),
      'storage_unreachable',
    ],
    [
      'pendingMigrations',
      async () => Promise.reject(new TypeError('password is not a function')),
      'storage_unreachable',
    ],
  ];
  for (const [name, call, reason] of cases) {
    const { storage, replace } = replaceable();
    await using platform = await startPlatform({ storage }, HOST);
    replace(name, call);
    const { status, text, body } = await send(platform.url('/readyz'));
    t.is(status, 503);
    t.deepEqual(body, { status: 'fail', output: reason });
    t.false(text.includes('password') || text.includes('secret'));
    t.deepEqual(await platform.auth.ready(), { ready: false, reason: reason as never });
    t.is((await send(platform.url('/livez'))).status, 200);
    t.true(
      platform.logger.lines.some(({ message, fields }) => message === 'not ready' && 'reason' in fields),
    );
  }
});

test('a storage that hangs is reported within a second, and asked once a second at most', async (t) => {
  const { storage, replace, callCount } = replaceable();
  await using platform = await startPlatform({ storage }, HOST);
  const before = callCount();
  const begun = performance.now();
  for (let count = 0; count < 200; count += 1) await platform.auth.ready();
  t.true(callCount() - before <= 1 + Math.ceil((performance.now() - begun) / 1000), 'cached for a second');

  const hanging = Promise.withResolvers<string[]>();
  replace('pendingMigrations', async () => hanging.promise);
  await until(async () => !(await platform.auth.ready()).ready);
  const calls = callCount();
  const since = performance.now();
  // After the result has expired, so that the second probe waits.
  while (performance.now() - since < 1500) {
    const [one, other, live] = await Promise.all(
      ['/readyz', '/readyz', '/livez'].map(async (path) => send(platform.url(path))),
    );
    t.deepEqual(one!.body, { status: 'fail', output: 'storage_unreachable' });
    t.deepEqual(other!.body, one!.body);
    t.is(live!.status, 200);
  }
  t.true(performance.now() - since < 10_000);
  t.is(callCount(), calls, 'not asked again while it hangs');
  hanging.resolve([]);
});

test('while closing: not ready at once, live until the end, and the storage is not called', async (t) => {
  const { storage, callCount } = replaceable();
  await using platform = await startPlatform({ storage }, HOST);
  const before = callCount();
  await platform.auth.close();
  const { status, body } = await send(platform.url('/readyz'));
  t.is(status, 503);
  t.deepEqual(body, { status: 'fail', output: 'closing' });
  t.is((await send(platform.url('/livez'))).status, 200);
  t.is(callCount(), before);
});

test('a server without an app has health endpoints at the root', async (t) => {
  await using platform = await startPlatform({}, { path: '/auth', app: ({ auth }) => auth.callback() });
  for (const path of ['/livez', '/readyz'])
    t.deepEqual((await send(platform.origin + path)).body, { status: 'pass' });
});

onEachDatabase(
  'a database that stops answering: not ready within a second, 503 everywhere, and ready when it answers',
  async (t, _database, address) => {
    const proxy = endWith(t, await startDatabaseProxy(address));
    const storage = knexStorage(proxy.address, { timeout: '1 second' });
    await using platform = await startPlatform({ storage }, HOST);
    t.deepEqual(await platform.auth.ready(), { ready: true });
    const service = await platform.registerService();

    proxy.freeze();
    // The result is cached for a second.
    await until(async () => !(await platform.auth.ready()).ready);
    const begun = performance.now();
    const readiness = await send(platform.url('/readyz'));
    t.true(performance.now() - begun < 10_000);
    t.is(readiness.status, 503);
    const token = await requestClientToken(platform, service);
    t.is(token.status, 503);
    t.is(token.body.error, 'temporarily_unavailable');
    t.truthy(token.headers.get('retry-after'));

    proxy.thaw();
    await until(async () => (await platform.auth.ready()).ready);
    t.is((await send(platform.url('/readyz'))).status, 200);
  },
  [postgresql],
);

onEachDatabase(
  'a process that was stopped while it held the lock: requests that write get 503, and /readyz says why',
  async (t, _database, address) => {
    await using platform = await startPlatform(
      { storage: knexStorage(address, { timeout: '1 second' }) },
      HOST,
    );
    const app = await platform.registerApp({ firstParty: true });
    const { refresh_token: token } = (await runCodeFlow(platform, app)).body;
    const refresh = async (): ReturnType<typeof platform.token> => exchangeRefreshToken(platform, app, token);

    const other = start('locking-process.ts', address);
    t.teardown(() => other.kill('SIGKILL'));
    await once(other, 'message');
    other.kill('SIGSTOP');
    const refused = await refresh();
    t.is(refused.status, 503);
    t.is(refused.headers.get('retry-after'), '1');
    const { status, body } = await send(platform.url('/readyz'));
    t.is(status, 200);
    t.deepEqual(body, { status: 'warn', notes: ['database_locked'] });

    other.kill('SIGCONT');
    other.send('commit');
    await once(other, 'exit');
    t.is((await refresh()).status, 200);
  },
  [sqlite],
);
