import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** A folder for the files of servers, in which their users may make their own. */
export function temporaryFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-trial-'));
  chmodSync(path, 0o777);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A running program. */
export interface Running {
  /** Ends it by a signal and waits for its end; without effect when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  readonly hasEnded: boolean;
}

interface Program {
  /** The user that runs the program when this process is root's, because database servers refuse to run as root. */
  readonly user: string;
  /** The file that gets its output. */
  readonly log: string;
}

/** Starts a program. `setpriv` becomes the program itself, so that a signal reaches it. */
export function startProgram(command: readonly string[], { user, log }: Program): Running {
  const [program = '', ...given] =
    process.getuid?.() === 0
      ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--', ...command]
      : command;
  const child: ChildProcess = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'] });
  // A trial that fails with an error leaves no servers behind.
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const output = createWriteStream(log, { flags: 'a' });
  child.stdout?.pipe(output, { end: false });
  child.stderr?.pipe(output, { end: false });
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    get hasEnded() {
      return ended();
    },
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      if (ended()) return;
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
    },
  };
}

/** Runs a program to its end. */
export async function runProgram(command: readonly string[], program: Program): Promise<void> {
  const running = startProgram(command, program);
  while (!running.hasEnded) await delay(20);
}

/** Waits until `answers` resolves to `true`, and throws the end of the server's log when that takes a minute. */
export async function untilAnswer(
  answers: () => Promise<boolean>,
  { log, server }: { readonly log: string; readonly server: Running },
): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await answers().catch(() => false))) {
    if (server.hasEnded || performance.now() > deadline) {
      throw new Error(`the server does not answer:\n${readFileSync(log, 'utf8').slice(-3000)}`);
    }
    await delay(100);
  }
}
