import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const TOGETHER = 'test/together';

/** Files that are run by one of `test/together` when all are run. Files that are named run by themselves. */
const grouped = new Set(
  globSync(`${TOGETHER}/*.test.ts`).flatMap((group) =>
    Array.from(
      readFileSync(group, 'utf8').matchAll(/import\('\.\.\/(.+?)'\)/g),
      ([, file]) => `test/${file}`,
    ),
  ),
);

// Of `test/oidc/*` the shell makes the names of all files there, and ava would look for tests in each that is named.
if (process.argv.some((word) => word.endsWith('.test.ts')))
  process.argv = process.argv.filter((word) => !/^test\/.*\.ts$/.test(word) || word.endsWith('.test.ts'));

const areNamed = process.argv.slice(2).some((word) => !word.startsWith('-'));

/** Those that take the longest: begun last, one of them would leave all other processors idle. */
const FIRST = [
  'browser/pages',
  'together/databases',
  'adapters/postgresql',
  'together/oidc-on-databases',
  'browser/authorization',
  'adapters/driver-errors',
  'oidc/killed-node',
  'adapters/processes',
  'browser/walks',
  'pdf/documents-browser',
  'package/package',
  'throttle/known-browsers',
  'examples/workers',
  'adapters/broken-transactions',
  'oidc/ended-stays-ended',
  'adapters/mariadb',
  'adapters/many-grants',
  'access/owned-clients',
  'oidc/one-winner',
  'security/sweep',
  'operation/health',
  'together/platform-on-databases',
  'cli/passport',
  'adapters/migrations',
];

/** @param {string} path */
function turnOf(path) {
  const index = FIRST.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
  return index === -1 ? FIRST.length : index;
}

export default {
  extensions: ['ts'],
  files: globSync('{bench,test}/**/*.test.ts', { exclude: ['**/node_modules/**'] }).filter((file) =>
    areNamed ? !file.startsWith(TOGETHER) : !grouped.has(file),
  ),
  nodeArguments: ['--conditions=gatehouse:source', '--import=./test/harness/compile-once.js'],
  // Many of them wait for a database, a browser or a clock.
  concurrency: availableParallelism() + 2,
  sortTestFiles: (one, other) => turnOf(one) - turnOf(other),
  timeout: '60s',
  workerThreads: false,
};
