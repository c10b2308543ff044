import { readFileSync } from 'node:fs';

import test from 'ava';

import { mistakesIn } from './shown-by.ts';

const CHECKLIST = new URL('CHECKLIST.md', import.meta.url);

/** How many rows each part has. */
const PARTS = {
  Requirements: 107,
  'Failures of others': 37,
  Faults: 29,
  Ended: 10,
  Defences: 14,
  Apps: 14,
  'Guessing and load': 7,
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
  if (what === '') return [`${place} says nothing`];
  if (/^Does not apply: .{20}/.test(shownBy)) return [];
  return mistakesIn(shownBy, CHECKLIST).map((mistake) => `${place}: ${mistake}`);
}

test('every row of the checklist is shown by tests that are there, or says why it does not apply', (t) => {
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

test('it notices a row that shows nothing, and a file or a test that is not there', (t) => {
  // In pieces: this file is searched for it.
  const missing = ['a test', 'that is nowhere'].join(' ');
  const rows = rowsOf(
    `## Faults

| No. | What | Shown by |
| --: | --- | --- |
| 1 | Nothing | |
| 2 | Too little | Does not apply: no |
| 3 | A file | [x](nowhere.test.ts): “x” |
| 4 | A test | [x](checklist.test.ts): “${missing}”, “it notices a row that shows nothing” |
| 5 | Why not | Does not apply: nothing of this kind is offered |
`,
  );
  t.deepEqual(rows.flatMap(mistakesOf), [
    'Faults 1: is shown by nothing',
    'Faults 2: is shown by nothing',
    'Faults 3: there is no nowhere.test.ts',
    'Faults 3: nowhere.test.ts has no test “x”',
    `Faults 4: checklist.test.ts has no test “${missing}”`,
  ]);
});
