import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

// A trial that ends early leaves no program behind.
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

// In milliseconds, for each thing that a program is waited for.
const LIMIT = 60_000;

/** A program of somebody else that is running. */
export interface AgentProgram extends AsyncDisposable {
  /**
   * Resolves to the next match in what it prints, on either stream, after the match before; throws when the program ends
   * without it, or takes a minute.
   */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Writes a line to its standard input. */
  write(line: string): void;
  /** Resolves when it ends by itself; throws when that takes a minute. */
  ended(): Promise<void>;
  /** Resolves to what it has printed to standard output when it ends with status 0; throws otherwise. */
  succeeded(): Promise<string>;
}

/**
 * Starts a program for an empty home, with nothing else of this process's environment. The browser that it opens is `true`, which ends
 * at once: the trial opens the URLs that the program prints.
 *
 * @param options.program - @default Node.js
 * @param options.environment - further variables
 */
export function startAgent(
  home: string,
  command: readonly string[],
  {
    environment = {},
    program = process.execPath,
  }: { readonly environment?: Readonly<Record<string, string>>; readonly program?: string } = {},
): AgentProgram {
  const child = spawn(program, command, {
    cwd: home,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      BROWSER: 'true',
      // Of the inspector: it opens a browser although nobody sits at a terminal, and stores its tokens in its home.
      MCP_AUTO_OPEN_ENABLED: 'true',
      MCP_INSPECTOR_SECRET_STORE: 'file',
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  let all = '';
  let read = 0;
  let look: (() => void) | undefined;
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
    all += String(chunk);
    look?.();
  });
  child.stderr.on('data', (chunk) => {
    all += String(chunk);
    look?.();
  });
  // A program that has ended reads nothing more.
  child.stdin.on('error', () => {});
  const exit = once(child, 'close').finally(() => running.delete(child));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;

  async function within<T>(wanted: string, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, failed) => {
      timer = setTimeout(
        () => failed(new Error(`no ${wanted} within a minute:\n${all.slice(-2000)}`)),
        LIMIT,
      );
    });
    return Promise.race([work, late]).finally(() => clearTimeout(timer));
  }

  async function ended(): Promise<void> {
    await within('end', exit);
  }

  return {
    async printed(pattern) {
      const found = new Promise<RegExpExecArray>((resolve, failed) => {
        look = () => {
          const match = pattern.exec(all.slice(read));
          if (match === null) return;
          look = undefined;
          read += match.index + match[0].length;
          resolve(match);
        };
        look();
        void exit.then(() => failed(new Error(`it has ended without ${pattern}:\n${all.slice(-2000)}`)));
      });
      return within(String(pattern), found);
    },
    write: (line) => void child.stdin.write(`${line}\n`),
    ended,
    async succeeded() {
      await ended();
      if (child.exitCode !== 0) throw new Error(`it has ended with ${child.exitCode}:\n${all.slice(-2000)}`);
      return output;
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded()) child.kill('SIGKILL');
      await exit;
    },
  };
}
