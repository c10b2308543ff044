import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { compileCache } from '../../harness/compile-cache.ts';

/** The result of a program. */
export interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs a program until it exits, with an empty environment except for the compile cache. */
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
      // One that hangs is ended; a busy machine is not the reason for it.
      timeout: 150_000,
    };
    const child = execFile(program, words, settings, (_error, output, errors) => {
      done({ code: child.exitCode ?? -1, output, errors });
    });
  });
}

/** Runs a program of a project, and resolves to what it has printed. */
export async function runProgram(folder: string, name: string, source?: string): Promise<string> {
  if (source !== undefined) writeFileSync(join(folder, name), source);
  const { code, errors, output } = await run(process.execPath, [name], folder);
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${errors}`);
  return errors + output;
}
