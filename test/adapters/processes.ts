import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import { compileCache } from '../harness/compile-cache.ts';

/** Starts a program of this folder as a child process. */
export function start(program: string, ...values: string[]): ChildProcess {
  return startWith([], program, ...values);
}

/** The same, with further options of Node. */
export function startWith(options: readonly string[], program: string, ...values: string[]): ChildProcess {
  return fork(new URL(program, import.meta.url), values, {
    execArgv: ['--conditions=gatehouse:source', '--disable-warning=ExperimentalWarning', ...options],
    env: { ...process.env, ...compileCache },
  });
}
