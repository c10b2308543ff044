import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import test from 'ava';
import type { ExecutionContext } from 'ava';

import { postForm, postJson, send } from './harness/requests.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** The first TypeScript of the README: what a stranger copies. */
function quickStart(): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const block = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1];
  if (block === undefined) throw new Error('README.md has no block of TypeScript');
  return block;
}

/** A stranger's project: an empty folder with the package and its dependencies installed. */
function makeProject(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-readme-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  symlinkSync(ROOT, join(folder, 'node_modules/koa-gatehouse'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(folder, 'server.ts'), quickStart());
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs the quick start until the test ends. Resolves when it has said what it has to say, and answers. */
async function runQuickStart(t: ExecutionContext): Promise<{ origin: string; output: string }> {
  const port = await freePort();
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--conditions=gatehouse:source', 'server.ts'], {
    cwd: makeProject(t),
    env: { PATH, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill());
  let output = '';
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  await new Promise<void>((ready, failed) => {
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
      if (printed(output, 'client_id') && printed(output, 'client_secret')) ready();
    });
    child.once('exit', (code) => failed(new Error(`The quick start ended with ${code}: ${output}${errors}`)));
  });
  const origin = `http://localhost:${port}`;
  await untilItAnswers(origin);
  return { origin, output };
}

async function untilItAnswers(origin: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      await fetch(origin);
      return;
    } catch {
      await delay(20);
    }
  }
  throw new Error(`Nothing listens at ${origin}`);
}

/** The value that was printed behind a name, on a line of its own. */
function printed(output: string, name: string): string | undefined {
  return new RegExp(`\\b${name}\\b["']?\\s*[:=]?\\s*["']?([\\w-]+)["',]*\\s*\\n`).exec(output)?.[1];
}

test('the quick start runs as it stands, and its client gets a token that the API takes', async (t) => {
  const { origin, output } = await runQuickStart(t);
  const client = {
    client_id: printed(output, 'client_id')!,
    client_secret: printed(output, 'client_secret')!,
  };
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
});
