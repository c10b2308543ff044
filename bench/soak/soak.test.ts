import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from '../../test/harness/test.ts';

import { temporaryFile } from '../../test/adapters/temporary-file.ts';
import { compileCache } from '../../test/harness/compile-cache.ts';
import { readArguments } from './arguments.ts';
import { Random } from './random.ts';
import { report, reportViolations } from './report.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

async function soak(options: string, ...files: string[]): Promise<{ stdout: string; stderr: string }> {
  const words = ['--conditions=gatehouse:source', MAIN, ...options.split(' '), ...files];
  return promisify(execFile)(process.execPath, words, { env: { ...process.env, ...compileCache } });
}

test('8,000 operations on two nodes that are killed ten times, without a wrong answer', async (t) => {
  t.timeout(600_000, 'it takes half a minute of CPU time');
  const [database, answers] = [temporaryFile(), temporaryFile('answers.jsonl')];
  const { stdout } = await soak(
    '--sources --nodes 2 --operations 8000 --kill-every 800ops --seed 17 --markdown',
    '--database',
    `sqlite:${database}`,
    '--answers',
    answers,
  );
  t.log(stdout);
  const [kinds = '', sums = ''] = stdout.split('\n\n');
  t.regex(kinds, /\| guarded request \|/);
  t.regex(kinds, /\| revoke access token \|/);
  t.regex(sums, /\| SQLite \| 2 \| [1-9].* \| 17 \| 0 \|\n$/);
  t.false(existsSync(database), 'the database is the run’s own');
  t.true(readFileSync(answers, 'utf8').split('\n').length > 16_000, 'a begin and an end each');
});

test('the command line', (t) => {
  const { database, killEvery, nodes, operations } = readArguments(
    '--database postgres://db.example/app --nodes 3 --operations 1000000 --kill-every 500ms'.split(' '),
  );
  t.deepEqual(
    [database, nodes, operations, killEvery],
    ['postgres://db.example/app', 3, 1_000_000, { milliseconds: 500 }],
  );
  t.deepEqual(readArguments([]).killEvery, { milliseconds: 1000 });
  t.deepEqual(readArguments(['--kill-every', '4000ops']).killEvery, { operations: 4000 });
  for (const [given, message] of [
    ['--nodes 0', '--nodes takes a whole number above 0, not 0'],
    ['--kill-every often', '--kill-every takes a time such as 1s or 500ms, or 4000ops, not often'],
    ['--database oracle://x', '--database takes sqlite:FILE, postgres://… or mysql://…, not oracle://x'],
  ] as const) {
    t.throws(() => readArguments(given.split(' ')), { instanceOf: TypeError, message });
  }
});

test('wrong arguments have the exit status 2, and show the usage', async (t) => {
  const error = await t.throwsAsync<Error & { code: number; stderr: string }>(soak('--nodes many'));
  t.is(error.code, 2);
  t.regex(error.stderr, /^--nodes takes a whole number above 0, not many\n\nUsage: npm run soak/);
});

test('kept answers are checked again: a wrong one is shown in full, with the exit status 1', async (t) => {
  const file = temporaryFile('answers.jsonl');
  const begun = { kind: 'client credentials', client: 9, number: 0, at: 1, node: 0 };
  const ended = { number: 0, at: 2, status: 500 };
  writeFileSync(file, `${JSON.stringify({ begun })}\n${JSON.stringify({ ended })}\n`);
  const error = await t.throwsAsync<Error & { code: number; stderr: string; stdout: string }>(
    soak('--check', file),
  );
  t.is(error.code, 1);
  t.is(error.stdout, '1 answers, 1 of them wrong\n');
  t.is(
    error.stderr,
    `documented answers: status 500\n  begun ${JSON.stringify(begun)}\n  ended ${JSON.stringify(ended)}\n`,
  );
});

test('the tables', (t) => {
  const outcome = {
    database: 'SQLite' as const,
    seed: 5,
    nodes: 2,
    answers: new Map([
      [
        'refresh' as const,
        new Map([
          [200, 1200],
          [0, 3],
        ]),
      ],
      ['prune' as const, new Map([[200, 1]])],
    ]),
    operations: 1204,
    kills: 2,
    elapsed: 2000,
    nodesCpu: 0,
    driverCpu: 1000,
    checker: { violations: [], violationCount: 0 },
    errors: [],
  };
  t.is(
    report(outcome, { markdown: false }),
    [
      '           all  no answer    200',
      'refresh  1,203          3  1,200',
      'prune        1                 1',
      '',
      'database  nodes  kills  operations  no answer  ops/s  time  CPU nodes  CPU driver  seed  wrong answers',
      'SQLite        2      2       1,204          3    602   2 s                    1 s     5              0',
      '',
    ].join('\n'),
  );
  t.is(report(outcome, { markdown: true }).split('\n')[1], '| --- | --: | --: | --: |');
  t.is(reportViolations(outcome.checker, ['node 1: slow']), '');
});

test('a seed gives the same choices again', (t) => {
  t.deepEqual(choices(3), choices(3));
  t.notDeepEqual(choices(3), choices(4));
});

function choices(seed: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: 5 }, () => random.below(1000));
}
