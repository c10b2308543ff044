import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from 'ava';

import { compileCache } from '../test/harness/compile-cache.ts';
import { readArguments, USAGE } from './arguments.ts';
import { CONTESTANTS, findMissing } from './contestants.ts';
import type { Measurement } from './measurement.ts';
import { toResult } from './result.ts';
import type { WorkResult } from './result.ts';
import { checkTargets } from './targets.ts';
import { warningsOf } from './warnings.ts';
import { WORKS } from './works/index.ts';
import { STARTS } from './works/starts.ts';

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
    p95: 2,
    p99: 2,
    peakMemory: 100,
    memory: 100,
    statements: 0,
    others,
  };
}

function grownTo(memory: number): Measurement {
  return { ...round(100), memory };
}

// The works check the responses.
test('each work runs with each of its contestants', async (t) => {
  t.timeout(120_000, 'a dozen servers are started');
  // PostgreSQL may not be installed, and the works are the same.
  const missing = new Set<string>(['gatehouse-postgresql', ...(await findMissing()).keys()]);
  const all = Object.keys(CONTESTANTS).filter((name) => !missing.has(name));
  const { stdout } = await bench('--smoke', '--json', '--with', all.join());
  const { results, warnings } = JSON.parse(stdout) as { results: WorkResult[]; warnings: string[] };
  t.deepEqual(
    results.map(({ name }) => name),
    [...WORKS, ...STARTS]
      .filter(({ contestants }) => contestants.slice(1).some((name) => !missing.has(name)))
      .map(({ name }) => name),
  );
  const seen = new Set(results.flatMap(({ rows }) => rows.map(({ contestant }) => contestant)));
  t.deepEqual([...seen].toSorted(), all.toSorted());
  for (const { name, rows } of results) {
    t.true(rows.length >= 2, name);
    for (const { contestant, operations, cpu, p50, p99, peakMemory } of rows) {
      t.true(operations > 0 && cpu > 0 && p50 > 0 && p99 >= p50, `${name}, ${contestant}`);
      t.true(peakMemory > 20 && peakMemory < 2000, `${name}, ${contestant}`);
    }
  }
  t.deepEqual(warnings, []);
});

test('ratios are medians of the rounds, and compared with the targets', (t) => {
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
    checkTargets([result]).map(({ what, met }) => ({ what, met })),
    [
      { what: 'CPU time, of the first row’s', met: true },
      { what: 'peak memory, of the first row’s', met: true },
    ],
  );
  const [uneven] = warningsOf(result);
  t.regex(uneven!, /differs from round to round: plain 2\.00 x, gatehouse 1\.71 x/);
  const noisy = toResult(work, new Map([['plain', [round(100, 0.4)]]]));
  t.deepEqual(warningsOf(noisy), ['refresh: other processes used 40 % of the CPU time']);
});

test('memory that grows from round to round misses its target', (t) => {
  const result = toResult(
    { name: 'html-pdf-memory', about: '' },
    new Map([
      ['html-pdf-plain', [300, 320, 340, 360, 380].map(grownTo)],
      ['html-pdf', [300, 330, 300, 330, 300].map(grownTo)],
    ]),
  );
  t.deepEqual(
    checkTargets([result]).map(({ contestant, value, met }) => ({ contestant, value, met })),
    [
      { contestant: 'html-pdf', value: 0, met: true },
      { contestant: 'html-pdf-plain', value: 100, met: false },
    ],
  );
});

test('options are parsed, and unknown values are refused', (t) => {
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
