import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';

import { run } from '../../lib/cli/program.ts';
import { fileWithTables } from '../adapters/file-with-tables.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';

const MAIN = new URL('../../lib/cli/main.ts', import.meta.url).pathname;
const NODE = [process.execPath, '--conditions=gatehouse:source', MAIN] as const;

/** The address of a new SQLite file with the tables of the storage. */
export async function migrated(): Promise<string> {
  return `sqlite:${await fileWithTables()}`;
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

/** A terminal in this process. */
interface Terminal {
  readonly columns: number;
  /** What is typed. @default nothing */
  readonly typed?: string;
}

// One run at a time, because it takes the output and the environment of this process.
let last: Promise<unknown> = Promise.resolve();

/** Runs the command in this process. @param terminal - left out: without a terminal */
export async function gatehouse(
  command: Command,
  env: Record<string, string> = {},
  terminal?: Terminal,
): Promise<Outcome> {
  const { codes, ...said } = await runAtOnce([command], env, terminal);
  return { code: codes[0]!, ...said };
}

/** Runs several commands at once in this process. Resolves to their exit codes, and what they say together. */
export async function runAtOnce(
  commands: readonly Command[],
  env: Record<string, string> = {},
  terminal?: Terminal,
): Promise<Omit<Outcome, 'code'> & { readonly codes: readonly number[] }> {
  const running = last.then(async () => captured(commands.map(wordsOf), env, terminal));
  last = running.catch(() => {});
  return running;
}

async function captured(
  commands: readonly (readonly string[])[],
  env: Record<string, string>,
  terminal: Terminal | undefined,
): ReturnType<typeof runAtOnce> {
  const { stderr, stdout } = process;
  let output = '';
  let errors = '';
  const restores = [
    replace(process, 'env', environment(env)),
    replace(stdout, 'write', (chunk: string) => Boolean((output += chunk))),
    replace(stderr, 'write', (chunk: string) => Boolean((errors += chunk))),
  ];
  if (terminal) {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.write(terminal.typed ?? '');
    restores.push(
      replace(process, 'stdin', stdin),
      replace(stdout, 'columns', terminal.columns),
      replace(stdout, 'isTTY', true),
      replace(stderr, 'isTTY', true),
    );
  }
  try {
    const codes = await Promise.all(commands.map(run));
    return { codes, output, errors };
  } finally {
    for (const restore of restores) restore();
    process.exitCode = undefined;
  }
}

/** Sets a property until the returned function is called. */
function replace(target: object, name: string, value: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(target, name, own);
    else Reflect.deleteProperty(target, name);
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

/** The command on a terminal. `output` is what it prints, control sequences included. */
export interface TerminalRun {
  readonly outcome: Promise<Outcome>;
  /** Resolves when the terminal shows a text. */
  shows(text: string): Promise<void>;
  /** Sends keys. */
  type(text: string): void;
}

/** Runs the command on a pseudo terminal, by `script` of util-linux. */
export function onTerminal(command: Command): TerminalRun {
  const line = [...NODE, ...wordsOf(command)].map(quoted).join(' ');
  const child = spawn('script', ['-qec', `stty cols 80 rows 24; exec ${line}`, '/dev/null'], {
    env: environment({}),
  });
  let seen = '';
  const waiting: { text: string; resolve: () => void }[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
    for (const { resolve, text } of waiting) if (seen.includes(text)) resolve();
  });
  return {
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
