import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const TOGETHER = 'test/together';

/**
 * What `npm run test:long` runs, and `npm test` does not: the packed package in other projects, clusters of database servers,
 * thousands of operations or of wrong requests, each page in each look.
 */
const LONG = new Set(
  globSync([
    'bench/**/*.test.ts',
    'test/package/*.test.ts',
    'test/together/package.test.ts',
    'test/adapters/{confirmation,galera,lost-standby,many-grants,mariadb-servers,pgbouncer,read-only-server}.test.ts',
    'test/oidc/repeated-revocations.test.ts',
    'test/openid/thousand-apps.test.ts',
    'test/browser/pages.test.ts',
    'test/security/sweep.test.ts',
  ]),
);

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

const named = process.argv.slice(2).filter((word) => word.endsWith('.ts'));
const isGroupNamed = named.some((word) => word.includes(`${TOGETHER}/`));

/** Those that take the longest: begun last, one of them would leave all other processors idle. */
const FIRST = [
  'soak/soak',
  'browser/pages',
  'together/package',
  'adapters/galera',
  'together/databases',
  'adapters/postgresql',
  'together/oidc-on-databases',
  'browser/authorization',
  'adapters/driver-errors',
  'oidc/killed-node',
  'adapters/processes',
  'browser/developer-area',
  'html-pdf/failures',
  'pdf/documents-browser',
  'limits/known-browsers',
  'together/token-lifetimes',
  'together/session-lifetimes',
  'together/lifetimes-on-databases',
  'together/limits',
  'examples/workers',
  'adapters/broken-transactions',
  'oidc/revocation-races',
  'adapters/mariadb',
  'oidc/concurrent-token-requests',
  'security/sweep',
  'operation/health',
  'together/platform-on-databases',
  'cli/passport',
  'adapters/migrations',
];

/** @param {string} path */
function turnOf(path) {
  const index = FIRST.findIndex((name) => path.endsWith(`${name}.test.ts`));
  return index === -1 ? FIRST.length : index;
}

/**
 * The configuration of one of the two runs. A run of named files takes all that are named.
 *
 * @param {{ long: boolean }} run
 */
export function configure({ long }) {
  return {
    extensions: ['ts'],
    files: globSync('{bench,test}/**/*.test.ts', { exclude: ['**/node_modules/**'] }).filter((file) =>
      named.length > 0
        ? isGroupNamed || !file.startsWith(TOGETHER)
        : !grouped.has(file) && LONG.has(file) === long,
    ),
    nodeArguments: ['--conditions=gatehouse:source', '--import=./test/harness/compile-once.js'],
    // Many of them wait for a database, a browser or a clock.
    concurrency: availableParallelism() + 2,
    sortTestFiles: (/** @type {string} */ one, /** @type {string} */ other) => turnOf(one) - turnOf(other),
    timeout: '60s',
    workerThreads: false,
  };
}

export default configure({ long: false });
