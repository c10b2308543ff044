import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';

import test from 'ava';

import { runExample, startExample, startForScripts, temporaryDirectory } from './running-example.ts';

test('every printed command works when pasted into bash', async (t) => {
  await using directory = await temporaryDirectory();
  await using example = await startExample({ dataDirectory: directory.path });
  const [, commands = ''] = /In a terminal\n(.*)\nPasswords and secrets/s.exec(example.output) ?? [];
  t.true(commands.split('\n').filter((line) => line.includes('curl ')).length >= 8);

  const { stdout, stderr } = await promisify(execFile)('bash', [
    '--norc',
    '-euo',
    'pipefail',
    '-c',
    commands,
  ]);
  t.is(stderr, '');
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.is(answers.length, 7);
  const [machine, schools, refused, person, identity, refreshed, sameIdentity] = answers;
  t.false('refresh_token' in machine);
  t.is(schools.data.length, 6);
  t.is(refused.message, 'Missing permission to view schools.');
  t.is(identity.data.email, 'ruth@platform.example');
  t.not(refreshed.access_token, person.access_token);
  t.deepEqual(sameIdentity, identity);
});

test('without a terminal there are no colour codes, and later starts print how to get new secrets', async (t) => {
  await using directory = await temporaryDirectory();
  const first = await startExample({ dataDirectory: directory.path });
  t.false(first.output.includes('\u001B'));
  await first.stop();
  await using second = await startExample({ dataDirectory: directory.path });
  t.regex(second.output, /npm start -- --new-secrets creates new ones/);
  t.notRegex(second.output, /gatehouse_secret_/);
});

test('an invalid start ends with one sentence', async (t) => {
  await using directory = await temporaryDirectory();
  await using taken = await listen();
  const { port } = taken;
  const run = (given: readonly string[], environment: Record<string, string> = {}) =>
    runExample({ dataDirectory: directory.path, arguments: given, environment });

  const unknown = await run(['--colour']);
  t.is(unknown.code, 2);
  t.regex(unknown.errors, /^Unknown option '--colour'\n\nUsage: npm start/);

  const relative = await run(['--redirect-uri', '/callback']);
  t.is(relative.code, 2);
  t.regex(relative.errors, /^--redirect-uri takes an absolute URL/);

  const help = await run(['--help']);
  t.is(help.code, 0);
  t.regex(help.output, /^Usage: npm start/);

  const badPort = await run([], { PORT: 'http' });
  t.deepEqual(badPort, { code: 1, output: '', errors: 'PORT: give a number from 0 to 65535, not "http".\n' });

  const badSandbox = await run([], { CHROMIUM_SANDBOX: 'off' });
  t.is(badSandbox.errors, 'CHROMIUM_SANDBOX: give true or false, not "off".\n');

  const badDatabase = await run([], { DATABASE_URL: 'oracle:here' });
  t.is(badDatabase.code, 1);
  t.regex(badDatabase.errors, /^DATABASE_URL: .*\n$/);

  const elsewhere = await run([], { HOST: '192.0.2.1' }); // of no machine (RFC 5737)
  t.is(elsewhere.code, 1);
  t.regex(elsewhere.errors, /^listen EADDRNOTAVAIL.* 192\.0\.2\.1.*: give another HOST or PORT\.\n$/);

  const occupied = await run([], { PORT: String(port) });
  t.is(occupied.code, 1);
  t.regex(occupied.errors, /address already in use.*PORT=0 npm start.*\n$/);
});

test('SIGTERM: a running request is answered, idle connections are closed, and the process exits', async (t) => {
  await using directory = await temporaryDirectory();
  await using example = await startForScripts({ dataDirectory: directory.path });
  const port = Number(new URL(example.announced.base_url).port);
  // An idle connection.
  const idle = connect(port, '127.0.0.1');
  await once(idle, 'connect');

  const body = JSON.stringify({ grant_type: 'client_credentials', client_id: 'none', client_secret: 'none' });
  const running = connect(port, '127.0.0.1');
  running.write(
    `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  // With 100-continue, the server has received the header.
  const [continueLine] = await once(running, 'data');
  t.regex(String(continueLine), /^HTTP\/1\.1 100/);

  const signalled = performance.now();
  const ended = example.stop('SIGTERM');
  await once(idle, 'close');
  await t.throwsAsync(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });

  const answer = readAll(running);
  running.write(body);
  t.regex(await answer, /^HTTP\/1\.1 401 .*"error":"invalid_client"/s);
  t.is(await ended, 0);
  t.true(performance.now() - signalled < 6000);
});

test('SIGTERM: an endless request does not delay the exit', async (t) => {
  await using directory = await temporaryDirectory();
  await using example = await startForScripts({ dataDirectory: directory.path });
  const endless = connect(Number(new URL(example.announced.base_url).port), '127.0.0.1');
  endless.on('error', () => undefined);
  endless.write(
    'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n',
  );
  await once(endless, 'data');

  const signalled = performance.now();
  t.is(await example.stop('SIGTERM'), 0);
  t.true(performance.now() - signalled < 6000);
});

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function listen(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}
