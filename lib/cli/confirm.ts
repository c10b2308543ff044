import { createInterface } from 'node:readline';

import { DeclinedError, UsageError } from './failure.ts';
import { INTERRUPTED } from './interrupt.ts';

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
