import { execFile } from 'node:child_process';

import { compileCache } from '../harness/compile-cache.ts';

/** How a program ended. */
export interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs a program to its end, with nothing in its environment that could help it but to start sooner. */
export async function run(
  program: string,
  words: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const { HOME = '', PATH = '' } = process.env;
  return new Promise((done) => {
    const settings = {
      cwd,
      env: { HOME, PATH, ...compileCache, ...environment },
      maxBuffer: 2 ** 26,
      timeout: 60_000,
    };
    const child = execFile(program, words, settings, (_error, output, errors) => {
      done({ code: child.exitCode ?? -1, output, errors });
    });
  });
}
