import { existsSync, readFileSync } from 'node:fs';

import test from '../harness/test.ts';

/** Tables whose last column names tests, relative to the file, or says why there are none. */
const TABLES = [
  {
    table: new URL('CHECKLIST.md', import.meta.url),
    least: 304,
    reason: /^Does not apply: .{20}/,
  },
  {
    table: new URL('../../docs/review/rfc9700.md', import.meta.url),
    least: 54,
    reason: /^(?:Does not hold|Does not apply|Left to you): .{20}/,
  },
];

/** The mistakes in a cell that names tests. */
function mistakesIn(shownBy: string, table: URL): string[] {
  const named = [...shownBy.matchAll(/\[[^\]]+\]\(([^)]+)\): ((?:“[^”]+”(?:, )?)+)/g)];
  if (named.length === 0) return ['names no test'];
  return named.flatMap(([, path = '', titles = '']) => {
    const file = new URL(path, table);
    if (!existsSync(file)) return [`there is no ${path}`];
    const source = readFileSync(file, 'utf8').replaceAll(String.raw`\'`, "'");
    const missing = Array.from(titles.matchAll(/“([^”]+)”/g), ([, title]) => title!).filter(
      (title) => !source.includes(title),
    );
    return missing.map((title) => `${path} has no test “${title}”`);
  });
}

for (const { table, least, reason } of TABLES) {
  test(`each row of ${table.pathname.split('/').at(-1)} names existing tests, or says why there are none`, (t) => {
    const rows = [...readFileSync(table, 'utf8').matchAll(/^\| +(\d[\d., ]*?) +\| +(.*) +\| *(.*?) *\|$/gm)];
    t.true(rows.length >= least, String(rows.length));
    for (const [, number, what, shownBy = ''] of rows) {
      if (!reason.test(shownBy)) t.deepEqual(mistakesIn(shownBy, table), [], `${number} ${what}`);
    }
  });
}
