import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where the groups are written. git ignores it. */
const FOLDER = '.test-groups';

/** What only `npm run test:long` runs, beside the files that say so. */
const LONG = /^(bench|test\/package)\//;

/** How much code a group has, in bytes. More would leave one group to run alone at the end. */
const MOST = 96_000;

/**
 * Divides test files into the processes that run them. A file has one of its own if its first line says so, with the reason:
 *
 * - `// Alone: …` if it changes something that the tests of a process share, such as an environment variable, or is slow;
 * - `// Long: …` if only `npm run test:long` runs it.
 *
 * `// Alone, first: …` and `// Long, first: …` begin first, because they would leave the processors idle at the end. All other files
 * share a few processes with those of their folder: loading and warming up the platform takes longer than the tests of most files.
 * The same files make the same groups. Returns the entry files of the processes, in the order in which they begin.
 *
 * @param {readonly string[]} files
 * @param {{ long: boolean }} run
 */
export function processesOf(files, { long }) {
  const all = files.toSorted().map((file) => describe(file));
  const { own = [], shared = [] } = Object.groupBy(
    all.filter(({ isLong }) => isLong === long),
    ({ isAlone }) => (isAlone ? 'own' : 'shared'),
  );
  const groups = Object.entries(Object.groupBy(shared, ({ file }) => dirname(file))).flatMap(
    ([folder, members = []]) =>
      divide(members).map((group, index) => {
        const entry = join(FOLDER, `${folder.replaceAll('/', '-')}-${index + 1}.test.ts`);
        const loaders = group.map(({ file }) => `  '${file}': async () => import('../${file}'),\n`);
        write(
          entry,
          `import { runTogether } from '../test/harness/together.ts';\n\nawait runTogether({\n${loaders.join('')}});\n`,
        );
        return { file: entry, isFirst: false, size: sum(group) };
      }),
  );
  return [...own, ...groups]
    .toSorted((one, other) => Number(other.isFirst) - Number(one.isFirst) || other.size - one.size)
    .map(({ file }) => file);
}

/**
 * Another run may load the same file meanwhile.
 *
 * @param {string} entry
 * @param {string} text
 */
function write(entry, text) {
  if (existsSync(entry) && readFileSync(entry, 'utf8') === text) return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(entry, text);
}

/** @typedef {{ file: string, size: number, isAlone: boolean, isFirst: boolean, isLong: boolean }} TestFile */

/**
 * @param {string} file
 * @returns {TestFile}
 */
function describe(file) {
  const text = readFileSync(file, 'utf8');
  const [, own, first] = /^\/\/ (Alone|Long)(, first)?: ./.exec(text) ?? [];
  return {
    file,
    size: text.length,
    isAlone: own !== undefined,
    isFirst: first !== undefined,
    isLong: own === 'Long' || LONG.test(file),
  };
}

/**
 * Parts of about the same size, of neighbours.
 *
 * @param {readonly TestFile[]} files
 */
function divide(files) {
  const total = sum(files);
  const count = Math.ceil(total / MOST);
  let before = 0;
  return Object.values(
    Object.groupBy(files, ({ size }) => {
      const middle = before + size / 2;
      before += size;
      return Math.floor((middle / total) * count);
    }),
  ).filter((part) => part !== undefined);
}

/** @param {readonly Pick<TestFile, 'size'>[]} files */
function sum(files) {
  return files.reduce((total, { size }) => total + size, 0);
}
