import { createInterface } from 'node:readline';

import { DeclinedError, UsageError } from './failure.ts';

/** Asks on the terminal whether to do what cannot be undone. Where nobody can answer, `--yes` has to say so. */
export async function confirm(question: string, { yes = false }: { yes?: boolean }): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`${question} Add --yes to do it.`);
  }
  const answer = await ask(`${question} [y/N] `);
  if (answer === undefined) throw new DeclinedError(INTERRUPTED);
  if (!/^y(es)?$/i.test(answer.trim())) throw new DeclinedError(1);
}

/** Resolves to `undefined` after Ctrl-C, and to nothing typed after Ctrl-D. */
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

/** The exit code of a process that was interrupted: 128 and the number of SIGINT. */
export const INTERRUPTED = 130;

/**
 * Does work that Ctrl-C ends after the batch under way, instead of in the middle. A second Ctrl-C ends the process.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const abort = (): void => interruption.abort();
  process.once('SIGINT', abort);
  try {
    return await work(interruption.signal);
  } finally {
    process.off('SIGINT', abort);
  }
}

const BAR = 24;
// In milliseconds.
const REDRAW = 80;

/** A line on the terminal that tells how far a long work is. Nothing where stderr is no terminal. */
interface Progress {
  readonly show: (done: number) => void;
  /** Takes the line away. */
  readonly end: () => void;
}

/** @param total - leave it out when nobody knows it: then the line counts */
export function startProgress(label: string, total?: number): Progress {
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

function counted(done: number, milliseconds: number): string {
  const perSecond = Math.round((done * 1000) / Math.max(milliseconds, 1));
  return `${inGroups(done)}  ${inGroups(perSecond)}/s`;
}

function portion(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const filled = Math.round(share * BAR);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${'━'.repeat(filled)}${'─'.repeat(BAR - filled)} ${percent}  ${inGroups(done)} of ${inGroups(total)}`;
}

/** Such as 1,234,567. */
export function inGroups(count: number): string {
  return count.toLocaleString('en');
}
