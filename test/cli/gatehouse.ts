import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import { run } from '../../lib/cli/program.ts';

const MAIN = new URL('../../lib/cli/main.ts', import.meta.url).pathname;
const NODE = [process.execPath, '--conditions=gatehouse:source', MAIN] as const;

/** How a run of the command ended. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

// One run at a time has the output of this process, and its environment.
let last: Promise<unknown> = Promise.resolve();

/** Runs the command in this process, as if it were one of its own on no terminal. */
export async function gatehouse(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const running = last.then(async () => captured(words, env));
  last = running.catch(() => {});
  return running;
}

async function captured(words: readonly string[], env: Record<string, string>): Promise<Outcome> {
  const { env: kept } = process;
  const output = capture(process.stdout);
  const errors = capture(process.stderr);
  process.env = environment(env);
  try {
    const code = await run(words);
    return { code, output: output.text(), errors: errors.text() };
  } finally {
    for (const { end } of [output, errors]) end();
    process.env = kept;
    process.exitCode = undefined;
  }
}

/** Keeps what is written to a stream, until the end. */
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

/** Runs the command as people do, in a process of its own, but on no terminal. */
export async function gatehouseProcess(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const [node, ...rest] = NODE;
  return outcomeOf(
    spawn(node, [...rest, ...words], { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

/** Runs the command with `--json` and reads the document; fails when there is none. */
export async function gatehouseJson<T = Record<string, unknown>>(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<T> {
  const { errors, output } = await gatehouse([...words, '--json'], env);
  if (output === '') throw new Error(`gatehouse ${words.join(' ')} said: ${errors}`);
  return JSON.parse(output) as T;
}

/** The command on a terminal of so many columns; what it prints is in `output`, with what moves the cursor. */
export interface TerminalRun {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
  /** Resolves when the terminal shows a text. */
  shows(text: string): Promise<void>;
  /** Types on the keyboard. */
  type(text: string): void;
}

/** Runs the command on a pseudo terminal, by `script` of util-linux. */
export function onTerminal(
  words: readonly string[],
  { columns = 80, env = {} }: { columns?: number; env?: Record<string, string> } = {},
): TerminalRun {
  const command = [...NODE, ...words].map(quoted).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 24; exec ${command}`, '/dev/null'], {
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

/** What a terminal shows in the end: lines that were drawn over and signs that move the cursor are gone. */
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
