import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

import { FOLDER_OF_DATABASES } from '../adapters/temporary-file.ts';
import { compileCache } from '../harness/compile-cache.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The line printed by `npm start -- --json`. */
export interface Announced {
  readonly base_url: string;
  readonly users: readonly { login: string; password: string; permissions: readonly string[] }[];
  readonly clients: readonly AnnouncedClient[];
}

export interface AnnouncedClient {
  readonly name: string;
  readonly grant_type: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly redirect_uris: readonly string[];
  readonly permissions: readonly string[];
}

/** The example server as a child process. */
export interface RunningExample extends AsyncDisposable {
  /** The text printed until it was ready. */
  readonly output: string;
  /** The text written to stderr, after the exit. */
  readonly errors: Promise<string>;
  readonly process: ChildProcess;
  /** Sends a signal and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ExampleOptions {
  readonly dataDirectory: string;
  readonly arguments?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The program, instead of the one in the checkout, and its working directory. */
  readonly program?: { readonly file: string; readonly folder: string };
}

/** Creates a directory that is removed afterwards. */
export async function temporaryDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(FOLDER_OF_DATABASES, 'gatehouse-example-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts the example on a free port. Resolves when it has printed how to use it. */
export async function startExample(options: ExampleOptions): Promise<RunningExample> {
  const child = spawnExample(options);
  const errors = text(child.stderr!);
  const output = await new Promise<string>((ready, failed) => {
    let printed = '';
    child.stdout!.on('data', (chunk) => {
      printed += String(chunk);
      // The text is written at once and ends with a line break, but a pipe may split it.
      if (/("clients":.*\]\}|press Connect, and sign in with .*)\n$/s.test(printed)) ready(printed);
    });
    child.once(
      'exit',
      () => void errors.then((said) => failed(new Error(`The example did not start: ${said}`))),
    );
  });

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    }
    return child.exitCode;
  }

  return { output, errors, process: child, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

/** Starts the example with `--json`. */
export async function startForScripts(
  options: ExampleOptions,
): Promise<RunningExample & { announced: Announced }> {
  const example = await startExample({ ...options, arguments: ['--json', ...(options.arguments ?? [])] });
  const announced: Announced = JSON.parse(example.output);
  return { ...example, announced };
}

/** Runs the example until it exits, for starts that fail. */
export async function runExample(
  options: ExampleOptions,
): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawnExample(options);
  const [output, errors] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'exit')]);
  return { code: child.exitCode, output, errors };
}

function spawnExample({
  dataDirectory,
  arguments: given = [],
  environment = {},
  program,
}: ExampleOptions): ChildProcess {
  const command = program ? [program.file] : ['--conditions=gatehouse:source', 'examples/server/start.js'];
  const { PATH = '' } = process.env;
  // Chromium's sandbox does not start as root, which the tests are in a container.
  const sandbox = process.getuid?.() === 0 ? { CHROMIUM_SANDBOX: 'false' } : {};
  return spawn(process.execPath, [...command, ...given], {
    cwd: program?.folder ?? ROOT,
    env: { PATH, PORT: '0', DATA_DIR: dataDirectory, ...sandbox, ...compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
