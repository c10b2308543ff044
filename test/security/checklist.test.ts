import { readFileSync } from 'node:fs';

import test from 'ava';

import { mistakesIn } from './test-references.ts';

const CHECKLIST = new URL('CHECKLIST.md', import.meta.url);

/** The number of rows of each part. */
const PARTS = {
  Requirements: 110,
  'Known vulnerabilities': 37,
  Faults: 29,
  Revocation: 10,
  Defences: 16,
  Apps: 16,
  'Apps that register themselves': 10,
  'Guessing and load': 11,
  'Apps with keys': 10,
  'Unregistered apps': 15,
  Agents: 11,
  'Sessions at the API': 6,
  'Personal access tokens': 8,
  Erasure: 4,
  Devices: 11,
};

interface Row {
  readonly part: string;
  readonly number: number;
  readonly what: string;
  readonly shownBy: string;
}

/** The rows of the tables, in order. */
function rowsOf(markdown: string): Row[] {
  return markdown.split(/^## /m).flatMap((section) => {
    const part = section.slice(0, section.indexOf('\n'));
    const rows = section.matchAll(/^\| +(\d+) +\| +(.*?) *\| +(.*?) *\|$/gm);
    return Array.from(rows, ([, number, what = '', shownBy = '']) => ({
      part,
      number: Number(number),
      what,
      shownBy,
    }));
  });
}

/** What is wrong with a row, in words. */
function mistakesOf({ part, number, what, shownBy }: Row): string[] {
  const place = `${part} ${number}`;
  if (what === '') return [`${place} has no text`];
  if (/^Does not apply: .{20}/.test(shownBy)) return [];
  return mistakesIn(shownBy, CHECKLIST).map((mistake) => `${place}: ${mistake}`);
}

test('every row of the checklist names existing tests, or a reason why it does not apply', (t) => {
  const rows = rowsOf(readFileSync(CHECKLIST, 'utf8'));
  for (const [part, count] of Object.entries(PARTS)) {
    const numbers = rows.filter((row) => row.part === part).map(({ number }) => number);
    t.deepEqual(
      numbers,
      Array.from({ length: count }, (_, index) => index + 1),
      part,
    );
  }
  t.deepEqual(rows.flatMap(mistakesOf), []);
});

test('rows without tests, and missing files and tests, are found', (t) => {
  // Composed at run time, because this file is searched for the title.
  const missing = ['a test', 'that does not exist'].join(' ');
  const rows = rowsOf(
    `## Faults

| No. | What | Shown by |
| --: | --- | --- |
| 1 | Nothing | |
| 2 | Too little | Does not apply: no |
| 3 | A file | [x](nowhere.test.ts): “x” |
| 4 | A test | [x](checklist.test.ts): “${missing}”, “rows without tests, and missing files” |
| 5 | Why not | Does not apply: nothing of this kind is offered |
`,
  );
  t.deepEqual(rows.flatMap(mistakesOf), [
    'Faults 1: names no test',
    'Faults 2: names no test',
    'Faults 3: there is no nowhere.test.ts',
    'Faults 3: nowhere.test.ts has no test “x”',
    `Faults 4: checklist.test.ts has no test “${missing}”`,
  ]);
});
