import { availableParallelism } from 'node:os';

/** Runs the files and folders that are named, each file in a process of its own: `npx ava test/access/guard.test.ts`. */
export default {
  extensions: ['ts'],
  files: ['{bench,test}/**/*.test.ts', '!test/groups/*'],
  nodeArguments: ['--conditions=gatehouse:source', '--import=./test/harness/compile-once.js'],
  // Many of them wait for a database, a browser or a clock.
  concurrency: availableParallelism() + 2,
  require: ['./test/harness/exit.js'],
  timeout: '60s',
  workerThreads: false,
};
