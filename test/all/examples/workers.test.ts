import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { Agent, setGlobalDispatcher } from 'undici';

import { freePort } from '../../harness/free-port.ts';
import { postForm, send } from '../../harness/requests.ts';
import { until } from '../../harness/until.ts';
import { runExample, startForScripts, temporaryDirectory } from '../../examples/running-example.ts';
import type { Announced } from '../../examples/running-example.ts';
import { clientToken, userToken } from '../../examples/tokens.ts';

const LAG = 5000;
// Between two looks at what takes seconds, each of which is several requests.
const SELDOM = 500;

// Workers take new connections in turn, so each request goes to another worker than the one before.
setGlobalDispatcher(new Agent({ pipelining: 0 }));

test('two workers share logins and tokens, and both apply revocations and new keys', async (t) => {
  await using directory = await temporaryDirectory();
  const port = await freePort();
  const probing = new AbortController();
  // A health probe holds connections to their port meanwhile.
  const probe = holdConnections(port, probing.signal);
  t.teardown(() => probing.abort());
  await using example = await startForScripts({
    dataDirectory: directory.path,
    arguments: ['--workers', '2'],
    environment: { PORT: String(port) },
  });
  probing.abort();
  t.true((await probe) > 0, 'the probe was connected before the workers served');
  const { announced } = example;
  t.is(example.output.trimEnd().split('\n').length, 1);
  t.is((await workersOf(example.process)).length, 2);

  const token = await userToken(announced, 'ruth@platform.example');
  t.deepEqual(await statuses(announced, token), [200, 200, 200, 200]);

  const { client_id, client_secret } = announced.clients.find(({ name }) => name === 'Command line')!;
  const presented = { token, client_id, client_secret };
  t.is((await postForm(`${announced.base_url}/oauth/revoke`, presented)).status, 200);
  const revokedAt = performance.now();
  await until(async () => (await statuses(announced, token)).every((status) => status === 401), SELDOM);
  t.true(performance.now() - revokedAt < LAG + 10_000);

  const before = await clientToken(announced, 'Nightly import');
  const administration = createAdministration({
    storage: knexStorage(`sqlite:${join(directory.path, 'platform.sqlite')}`),
    secrets: {
      keyEncryptionKey: (await readFile(join(directory.path, 'key-encryption-key'), 'utf8')).trim(),
    },
  });
  const key = await administration.signingKeys.rotate({ after: '30 seconds' });
  await administration.close();
  await until(async () => {
    const tokens = await Promise.all([1, 2, 3, 4].map(() => clientToken(announced, 'Nightly import')));
    for (const each of tokens) t.deepEqual(await statuses(announced, each), [200, 200, 200, 200]);
    return tokens.every((each) => keyOf(each) === key.id);
  }, SELDOM);
  t.not(keyOf(before), key.id);
  t.deepEqual(await statuses(announced, before), [200, 200, 200, 200]);

  const workers = await workersOf(example.process);
  t.is(await example.stop(), 0);
  for (const worker of workers) t.false(isRunning(worker));
});

test('a worker that exits is replaced, until too many have exited', async (t) => {
  await using directory = await temporaryDirectory();
  await using example = await startForScripts({
    dataDirectory: directory.path,
    arguments: ['--workers', '2'],
  });
  const [first, second] = await workersOf(example.process);
  process.kill(first!, 'SIGKILL');
  await until(
    async () => (await workersOf(example.process)).filter((worker) => worker !== first).length === 2,
  );
  const token = await clientToken(example.announced, 'Nightly import');
  t.deepEqual(await statuses(example.announced, token), [200, 200, 200, 200]);
  t.true(isRunning(second!));

  const ended = once(example.process, 'exit');
  const killing = new AbortController();
  void (async () => {
    while (!killing.signal.aborted) {
      for (const worker of await workersOf(example.process)) signal(worker, 'SIGKILL');
      await delay(100);
    }
  })();
  const [code] = await ended;
  killing.abort();
  t.is(code, 1);
});

test('workers that cannot start end with one sentence', async (t) => {
  await using directory = await temporaryDirectory();
  const { code, errors } = await runExample({
    dataDirectory: directory.path,
    arguments: ['--workers', '2'],
    environment: { DATABASE_URL: 'oracle:here' },
  });
  t.is(code, 1);
  t.regex(errors, /^DATABASE_URL: [^\n]*\n$/);
});

/** The statuses of four requests to the API, one after the other. */
async function statuses({ base_url: base }: Announced, token: string): Promise<number[]> {
  const headers = { authorization: `Bearer ${token}` };
  const found: number[] = [];
  while (found.length < 4) found.push((await send(`${base}/api/v1/identity`, { headers })).status);
  return found;
}

/** Reconnects whenever the connection is closed, and sends nothing. Resolves to the number of connections. */
async function holdConnections(port: number, stopped: AbortSignal): Promise<number> {
  let connected = 0;
  while (!stopped.aborted) {
    const socket = connect({ port, host: 'localhost', signal: stopped });
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    socket.on('connect', () => (connected += 1)).on('error', () => {});
    await closed;
    await delay(20);
  }
  return connected;
}

function keyOf(token: string): unknown {
  const [header = ''] = token.split('.');
  const { kid }: { kid?: unknown } = JSON.parse(Buffer.from(header, 'base64url').toString());
  return kid;
}

async function workersOf({ pid }: ChildProcess): Promise<number[]> {
  try {
    const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid)]);
    return stdout.trim().split('\n').map(Number);
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  return signal(pid, 0);
}

/** Sends a signal. Returns whether the process existed. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
