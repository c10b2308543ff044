import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseSync, Visitor } from 'oxc-parser';

import test from './harness/test.ts';

const ROOT = join(import.meta.dirname, '..');
const OWN_COMMAND = /^test\/(?:(?:all|alone|databases|groups)\/|modules\.test\.ts$)/;

function filesIn(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] }).toSorted();
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

test('each test file of `npm test` is in one group', (t) => {
  const grouped = filesIn('test/groups/*.ts').flatMap((group) =>
    Array.from(read(group).matchAll(/^import '\.\.\/(.+)';$/gm), ([, file]) => `test/${file}`),
  );
  const files = filesIn('test/**/*.test.ts').filter((file) => !OWN_COMMAND.test(file));
  t.true(files.length > 200);
  t.deepEqual(grouped.toSorted(), files, 'import each in one of the files of test/groups');
});

test('no test waits for anything while it is loaded, and ava is imported in one place', (t) => {
  for (const file of filesIn('{bench,test}/**/*.test.ts')) {
    const source = read(file);
    t.notRegex(
      source,
      /^import (?!type\b).* from 'ava';$/m,
      `${file}: import test from test/harness/test.ts`,
    );
    t.deepEqual(awaitsIn(file, source), [], `${file}: make it with shared(), of test/harness/shared.ts`);
  }
});

/** What a file awaits outside of functions. */
function awaitsIn(file: string, source: string): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  const enter = (): void => void (depth += 1);
  const leave = (): void => void (depth -= 1);
  new Visitor({
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    AwaitExpression({ start, end }) {
      if (depth === 0) found.push(source.slice(start, end));
    },
  }).visit(parseSync(file, source).program);
  return found;
}
