import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import test from 'ava';
import type { ExecutionContext } from 'ava';

import { runQuickStart } from './harness/quick-start.ts';
import { postForm, postJson, send } from './harness/requests.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** A project with the package and its dependencies installed. */
function makeProject(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-readme-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  symlinkSync(ROOT, join(folder, 'node_modules/koa-gatehouse'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  return folder;
}

test('the quick start runs unchanged, and its client gets a token that the API accepts', async (t) => {
  const { client, origin } = await runQuickStart(t, makeProject(t), ['--conditions=gatehouse:source']);
  t.regex(client.client_id, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  t.true(client.client_secret.startsWith('gatehouse_secret_'));

  const metadata = await send(`${origin}/.well-known/oauth-authorization-server`);
  t.is(metadata.status, 200);
  t.is(metadata.body?.['issuer'], origin);

  for (const post of [postJson, postForm]) {
    const issued = await post(`${origin}/oauth/token`, { grant_type: 'client_credentials', ...client });
    t.is(issued.status, 200, issued.text);
    t.is(issued.body?.['token_type'], 'Bearer');
    const authorization = `Bearer ${String(issued.body?.['access_token'])}`;
    const identity = await send(`${origin}/api/v1/identity`, { headers: { authorization } });
    t.is(identity.status, 200, identity.text);
    t.like(identity.body, { data: { type: 'client', client_id: client.client_id } });
    const schools = await send(`${origin}/api/v1/schools`, { headers: { authorization } });
    t.is(schools.status, 200, schools.text);
    t.deepEqual(schools.body, { data: [{ id: 1, name: 'Hill School' }] });
  }
  t.is((await send(`${origin}/api/v1/identity`)).status, 401);

  const [askForToken = '', askApi = ''] = curlLines();
  const token = JSON.parse(await shell(askForToken, origin, client.client_id, client.client_secret));
  t.is(token.token_type, 'Bearer');
  t.deepEqual(JSON.parse(await shell(askApi, origin, token.access_token)), {
    data: [{ id: 1, name: 'Hill School' }],
  });
});

test('the quick start reports a port in use before it creates a secret', async (t) => {
  const occupying = createServer().listen(0, 'localhost');
  t.teardown(() => occupying.close());
  await once(occupying, 'listening');
  const { port } = occupying.address() as AddressInfo;
  const error = await t.throwsAsync(
    runQuickStart(t, makeProject(t), ['--conditions=gatehouse:source'], port),
    { message: /EADDRINUSE/ },
  );
  t.notRegex(error?.message ?? '', /client_secret|gatehouse_secret_/);
});

test('the README is one screen: first npm install, then npx, then a checkout', (t) => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  t.true(readme.split('\n').length <= 90);
  const commands = [
    'npm install koa-gatehouse',
    'npx koa-gatehouse-example',
    'npm ci && npm start',
    'npm cit',
  ];
  const places = commands.map((command) => readme.indexOf(command));
  t.true(places.every((place) => place > 0));
  t.deepEqual(
    places,
    places.toSorted((one, other) => one - other),
  );
});

/** The curl commands below the quick start. */
function curlLines(): string[] {
  return readFileSync(join(ROOT, 'README.md'), 'utf8').match(/^curl .*$/gm) ?? [];
}

/** Runs a command with the port of the test, and with the values for its placeholders, in order. */
async function shell(line: string, origin: string, ...values: readonly string[]): Promise<string> {
  const rest = [...values];
  const filled = line.replace('http://localhost:3000', origin).replaceAll('…', () => rest.shift() ?? '');
  const { stdout } = await promisify(execFile)('bash', ['-c', filled]);
  return stdout;
}
