import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { writeFileSync } from 'node:fs';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { run } from '../../lib/cli/program.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';

const MAIN = new URL('../../lib/cli/main.ts', import.meta.url).pathname;
const NODE = [process.execPath, '--conditions=gatehouse:source', MAIN] as const;

/** Creates the tables of a database, and resolves to its address. */
export async function migrated(address: string = `sqlite:${temporaryFile()}`): Promise<string> {
  const storage = knexStorage(address);
  await storage.migrate();
  await storage.close();
  return address;
}

/** Writes a module for `--gate`, in which `defineGate` is known. */
export function gateFile(source: string): string {
  const file = temporaryFile('gate.ts');
  writeFileSync(
    file,
    `import { defineGate } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))};\n${source}`,
  );
  return file;
}

/** The result of a run of the command. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Such as `client list --limit 2`; a word with blanks is in single quotes. */
export type Command = string | readonly string[];

function wordsOf(command: Command): readonly string[] {
  if (typeof command !== 'string') return command;
  return Array.from(command.matchAll(/'([^']*)'|\S+/g), ([word, quotedWord]) => quotedWord ?? word);
}

// One run at a time, because it takes the output and the environment of this process.
let last: Promise<unknown> = Promise.resolve();

/** Runs the command in this process, as without a terminal. */
export async function gatehouse(command: Command, env: Record<string, string> = {}): Promise<Outcome> {
  const running = last.then(async () => captured(wordsOf(command), env));
  last = running.catch(() => {});
  return running;
}

async function captured(words: readonly string[], env: Record<string, string>): Promise<Outcome> {
  const { env: originalEnv } = process;
  const output = capture(process.stdout);
  const errors = capture(process.stderr);
  process.env = environment(env);
  try {
    const code = await run(words);
    return { code, output: output.text(), errors: errors.text() };
  } finally {
    for (const { end } of [output, errors]) end();
    process.env = originalEnv;
    process.exitCode = undefined;
  }
}

/** Collects what is written to a stream until `end`. */
function capture(stream: NodeJS.WriteStream): { readonly text: () => string; readonly end: () => void } {
  const own = Object.getOwnPropertyDescriptor(stream, 'write');
  let text = '';
  stream.write = (chunk: string | Uint8Array) => {
    text += String(chunk);
    return true;
  };
  return {
    text: () => text,
    end() {
      if (own) Object.defineProperty(stream, 'write', own);
      else Reflect.deleteProperty(stream, 'write');
    },
  };
}

/** Runs the command in a child process without a terminal. @param user - who runs it, if another user */
export async function gatehouseProcess(
  command: Command,
  env: Record<string, string> = {},
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<Outcome> {
  const [node, ...rest] = NODE;
  const options = {
    ...user,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  } satisfies SpawnOptions;
  return outcomeOf(spawn(node, [...rest, ...wordsOf(command)], options));
}

/** Runs the command with `--json` and returns the document; fails when there is none. */
export async function gatehouseJson<T = Record<string, unknown>>(
  command: Command,
  env: Record<string, string> = {},
): Promise<T> {
  const { errors, output } = await gatehouse([...wordsOf(command), '--json'], env);
  if (output === '') throw new Error(`gatehouse ${wordsOf(command).join(' ')} said: ${errors}`);
  return JSON.parse(output) as T;
}

/** The command on a terminal with a number of columns. `output` is what it prints, control sequences included. */
export interface TerminalRun {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
  /** Resolves when the terminal shows a text. */
  shows(text: string): Promise<void>;
  /** Sends keys. */
  type(text: string): void;
}

/** Runs the command on a pseudo terminal, by `script` of util-linux. */
export function onTerminal(
  command: Command,
  { columns = 80, env = {} }: { columns?: number; env?: Record<string, string> } = {},
): TerminalRun {
  const line = [...NODE, ...wordsOf(command)].map(quoted).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 24; exec ${line}`, '/dev/null'], {
    env: environment(env),
  });
  let seen = '';
  const waiting: { text: string; resolve: () => void }[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
    for (const { resolve, text } of waiting) if (seen.includes(text)) resolve();
  });
  return {
    child,
    outcome: outcomeOf(child),
    shows: async (text) =>
      new Promise((resolve) => {
        if (seen.includes(text)) resolve();
        else waiting.push({ text, resolve });
      }),
    type: (text) => void child.stdin.write(text),
  };
}

/** The final text on the terminal, without overwritten lines and control sequences. */
export function screen(output: string): string {
  return output
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\r').at(-1)!.replaceAll('\u{1b}[K', ''))
    .join('\n');
}

function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  const { DATABASE_URL: _url, KEY_ENCRYPTION_KEY: _key, NODE_ENV: _mode, ...rest } = process.env;
  return { ...rest, ...env };
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let output = '';
  let errors = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, output, errors }));
  });
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
