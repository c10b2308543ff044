import { availableParallelism } from 'node:os';

/** The files and folders that take the longest begin first, so that none of them runs alone at the end. */
const LONGEST = [
  'test/groups/',
  'bench/bench.test.ts',
  'test/all/browser/pages.test.ts',
  'test/all/package/without-a-feature.test.ts',
  'test/all/security/growth.test.ts',
  'bench/soak/soak.test.ts',
  'test/all/security/sweep.test.ts',
  'test/all/package/package.test.ts',
  'test/all/hosts/hosts.test.ts',
  'test/all/declarations/declarations.test.ts',
  'test/all/api/contract.test.ts',
];

/** @param {string} path */
function placeOf(path) {
  const place = LONGEST.findIndex((file) => path.includes(`/${file}`));
  return place < 0 ? LONGEST.length : place;
}

/** Runs the files and folders that are named, each file in a process of its own: `npx ava test/access/guard.test.ts`. */
export default {
  extensions: ['ts'],
  files: ['{bench,test}/**/*.test.ts', '!test/groups/*'],
  nodeArguments: ['--conditions=gatehouse:source', '--import=./test/harness/compile-once.js'],
  // Many of them wait for a database, a browser or a clock.
  concurrency: availableParallelism() + 2,
  /** @param {string} one @param {string} other */
  sortTestFiles: (one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1),
  require: ['./test/harness/exit.js'],
  timeout: '60s',
  workerThreads: false,
};
