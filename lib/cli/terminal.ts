import { createInterface } from 'node:readline';

import type { Milliseconds } from '../contracts/duration.ts';
import { DeclinedError, UsageError } from './failure.ts';

/** Asks on the terminal for confirmation of an irreversible command. Without a terminal, `--yes` is required. */
export async function confirm(question: string, { yes = false }: { yes?: boolean }): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`${question} Add --yes to do it.`);
  }
  const answer = await ask(`${question} [y/N] `);
  if (answer === undefined) throw new DeclinedError(INTERRUPTED);
  if (!/^y(es)?$/i.test(answer.trim())) throw new DeclinedError(1);
}

/** Resolves to the answer, to `undefined` after Ctrl-C, or to `''` after Ctrl-D. */
async function ask(question: string): Promise<string | undefined> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string | undefined>((resolve) => {
    terminal.once('SIGINT', () => {
      process.stderr.write('\n');
      resolve(undefined);
    });
    terminal.once('close', () => resolve(''));
    terminal.question(question, resolve);
  });
  terminal.close();
  return answer;
}

/** The exit code of an interrupted process: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130;

/**
 * Runs long work, with a line on the terminal that shows its progress. Ctrl-C aborts the signal, so that the work ends after the current
 * batch; a second Ctrl-C ends the process.
 *
 * @param total - leave it out when it is not known: the line then shows a count instead of a bar
 */
export async function interruptible<T>(
  { label, total }: { readonly label: string; readonly total?: number },
  work: (running: {
    readonly signal: AbortSignal;
    readonly onProgress: (done: number) => void;
  }) => Promise<T>,
): Promise<{ readonly result: T; readonly interrupted: boolean }> {
  const progress = startProgress(label, total);
  const interruption = new AbortController();
  const { signal } = interruption;
  const abort = (): void => interruption.abort();
  process.once('SIGINT', abort);
  try {
    const result = await work({ signal, onProgress: progress.show });
    return { result, interrupted: signal.aborted };
  } finally {
    process.off('SIGINT', abort);
    progress.end();
  }
}

const BAR = 24;
const REDRAW: Milliseconds = 80;

/** A line on the terminal that shows the progress of a long command. When stderr is not a terminal, nothing is written. */
interface Progress {
  readonly show: (done: number) => void;
  /** Removes the line. */
  readonly end: () => void;
}

function startProgress(label: string, total: number | undefined): Progress {
  const { stderr } = process;
  if (!stderr.isTTY) return { show() {}, end() {} };
  const startedAt = performance.now();
  let drawnAt = -Infinity;
  return {
    show(done) {
      const at = performance.now();
      if (at - drawnAt < REDRAW) return;
      drawnAt = at;
      const state = total === undefined ? counted(done, at - startedAt) : portion(done, total);
      stderr.write(`\r${label}  ${state}\x1b[K`);
    },
    end() {
      if (drawnAt > 0) stderr.write('\r\x1b[K');
    },
  };
}

function counted(done: number, milliseconds: Milliseconds): string {
  const perSecond = Math.round((done * 1000) / Math.max(milliseconds, 1));
  return `${formatCount(done)}  ${formatCount(perSecond)}/s`;
}

function portion(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const filled = Math.round(share * BAR);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${'━'.repeat(filled)}${'─'.repeat(BAR - filled)} ${percent}  ${formatCount(done)} of ${formatCount(total)}`;
}

/** Formats a number such as 1,234,567. */
export function formatCount(count: number): string {
  return count.toLocaleString('en');
}
