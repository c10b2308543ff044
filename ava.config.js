import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';

import { processesOf } from './test/harness/processes.js';

// Of `test/oidc/*` the shell makes the names of all files there, and ava would look for tests in each that is named.
if (process.argv.some((word) => word.endsWith('.test.ts')))
  process.argv = process.argv.filter((word) => !/^test\/.*\.ts$/.test(word) || word.endsWith('.test.ts'));

/** Whether files or folders are named. Each file has a process of its own then, whatever it says of itself. */
const isNamed = process.argv.slice(2).some((word) => /^(\.\/)?(bench|test)\b|\.ts\b/.test(word));

/**
 * The configuration of one of the two runs. What is in which, and in which order, is decided in `processesOf()`.
 *
 * @param {{ long: boolean }} run
 */
export function configure({ long }) {
  const all = globSync('{bench,test}/**/*.test.ts', { exclude: ['**/node_modules/**'] });
  const files = isNamed ? all : processesOf(all, { long });
  const turn = (/** @type {string} */ file) => files.indexOf(relative(import.meta.dirname, file));
  return {
    extensions: ['ts'],
    files,
    nodeArguments: ['--conditions=gatehouse:source', '--import=./test/harness/compile-once.js'],
    // Many of them wait for a database, a browser or a clock.
    concurrency: availableParallelism() + 2,
    sortTestFiles: (/** @type {string} */ one, /** @type {string} */ other) => turn(one) - turn(other),
    timeout: '60s',
    workerThreads: false,
  };
}

export default configure({ long: false });
