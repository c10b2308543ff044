import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from 'ava';

import { compileCache } from '../test/harness/compile-cache.ts';
import { readArguments, START_UP, USAGE } from './arguments.ts';
import { CONTESTANTS } from './contestants.ts';
import type { Measurement } from './measurement.ts';
import { toResult } from './result.ts';
import type { WorkResult } from './result.ts';
import { judge } from './targets.ts';
import { warningsOf } from './warnings.ts';
import { WORKS } from './works/index.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

async function bench(...given: string[]): Promise<{ stdout: string; stderr: string }> {
  const words = ['--conditions=gatehouse:source', MAIN, ...given];
  return promisify(execFile)(process.execPath, words, { env: { ...process.env, ...compileCache } });
}

function round(cpu: number, others = 0): Measurement {
  return {
    operations: 10,
    perSecond: 100,
    cpu,
    p50: 1,
    p99: 2,
    peakMemory: 100,
    statements: 0,
    others,
  };
}

// Whether the answers are right is checked by the works themselves.
test('every work runs, with everybody who takes part in it', async (t) => {
  t.timeout(120_000, 'a dozen servers are started');
  // PostgreSQL makes no difference to the works, and is not everywhere.
  const everybody = Object.keys(CONTESTANTS).filter((name) => name !== 'gatehouse-postgresql');
  const { stdout } = await bench('--smoke', '--json', '--with', everybody.join());
  const { results, warnings } = JSON.parse(stdout) as { results: WorkResult[]; warnings: string[] };
  t.deepEqual(
    results.map(({ name }) => name),
    [...WORKS.map(({ name }) => name), START_UP],
  );
  const seen = new Set(results.flatMap(({ rows }) => rows.map(({ contestant }) => contestant)));
  t.deepEqual([...seen].toSorted(), everybody.toSorted());
  for (const { name, rows } of results) {
    t.true(rows.length >= 2, name);
    for (const { contestant, operations, cpu, p50, p99, peakMemory } of rows) {
      t.true(operations > 0 && cpu > 0 && p50 > 0 && p99 >= p50, `${name}, ${contestant}`);
      t.true(peakMemory > 20 && peakMemory < 2000, `${name}, ${contestant}`);
    }
  }
  t.deepEqual(warnings, []);
});

test('ratios are medians of the rounds, and held against the targets', (t) => {
  const work = { name: 'refresh', about: '' };
  const result = toResult(
    work,
    new Map([
      ['plain', [round(100), round(200), round(100)]],
      ['gatehouse', [round(120), round(180), round(105)]],
    ]),
  );
  const [, row] = result.rows;
  t.is(row!.cpu, 120);
  t.is(row!.cpuRatio, 1.05);
  t.deepEqual(
    judge([result]).map(({ what, met }) => ({ what, met })),
    [
      { what: 'CPU time, of the first row’s', met: true },
      { what: 'peak memory, of the first row’s', met: true },
    ],
  );
  const [uneven] = warningsOf(result);
  t.regex(uneven!, /differs from round to round: plain 2\.00 x, gatehouse 1\.71 x/);
  const noisy = toResult(work, new Map([['plain', [round(100, 0.4)]]]));
  t.deepEqual(warningsOf(noisy), ['refresh: others took 40 % of the machine meanwhile']);
});

test('the command line', (t) => {
  const { works, contestants, rounds } = readArguments([
    '--only',
    'refresh',
    '--with',
    'gatehouse',
    '--rounds',
    '2',
  ]);
  t.deepEqual([works, contestants, rounds], [['refresh'], ['gatehouse'], 2]);
  t.throws(() => readArguments(['--only', 'everything']), {
    message: /there is no everything; client-credentials,/,
  });
  t.throws(() => readArguments(['--rounds', 'many']), {
    message: '--rounds takes a number above 0, not many',
  });
  t.regex(USAGE, /--smoke/);
});
