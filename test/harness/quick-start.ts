import { execFile, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import type { ExecutionContext } from 'ava';

import { freePort } from './free-port.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The first TypeScript block of the README, which newcomers copy. */
function quickStart(): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const block = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1];
  if (block === undefined) throw new Error('README.md has no block of TypeScript');
  return block;
}

/** Makes a project with the package and its dependencies installed, in a new folder, which is removed when the process exits. */
export function makeProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-project-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  symlinkSync(ROOT, join(folder, 'node_modules/koa-gatehouse'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  return folder;
}

/** Runs a command of a guide at a server, with the values for its placeholders, in order. Resolves to what it prints. */
export async function runLine(line: string, origin: string, ...values: readonly string[]): Promise<string> {
  const rest = [...values];
  const filled = line.replace('http://localhost:3000', origin).replaceAll('…', () => rest.shift() ?? '');
  return (await promisify(execFile)('bash', ['-c', filled])).stdout;
}

export interface RunningQuickStart {
  readonly origin: string;
  /** The credentials that it printed. */
  readonly client: { readonly client_id: string; readonly client_secret: string };
}

/**
 * Runs the quick start in a project until the test ends. Resolves when it has printed its credentials and answers requests.
 *
 * @param options - of Node
 * @param port - a free one unless it is given
 */
export async function runQuickStart(
  t: ExecutionContext,
  project: string,
  options: readonly string[] = [],
  port?: number,
): Promise<RunningQuickStart> {
  writeFileSync(join(project, 'server.ts'), quickStart());
  const ownPort = port ?? (await freePort());
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [...options, 'server.ts'], {
    cwd: project,
    env: { PATH, PORT: String(ownPort) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill());
  let output = '';
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const client = await new Promise<RunningQuickStart['client']>((ready, failed) => {
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
      const [id, secret] = [printed(output, 'client_id'), printed(output, 'client_secret')];
      if (id !== undefined && secret !== undefined) ready({ client_id: id, client_secret: secret });
    });
    child.once('close', (code) =>
      failed(new Error(`The quick start ended with ${code}: ${output}${errors}`)),
    );
  });
  const origin = `http://localhost:${ownPort}`;
  await waitForAnswer(origin);
  return { origin, client };
}

/** Waits until something listens at an origin. */
export async function waitForAnswer(origin: string): Promise<void> {
  for (let tries = 0; tries < 1500; tries += 1) {
    try {
      await fetch(origin);
      return;
    } catch {
      await delay(20);
    }
  }
  throw new Error(`Nothing listens at ${origin}`);
}

/** The value that was printed after a name, at the end of a line. */
function printed(output: string, name: string): string | undefined {
  return new RegExp(`\\b${name}\\b["']?\\s*[:=]?\\s*["']?([\\w-]+)["',]*\\s*\\n`).exec(output)?.[1];
}
