import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from '../test/harness/test.ts';

import { temporaryDirectory } from '../test/examples/running-example.ts';
import { compileCache } from '../test/harness/compile-cache.ts';
import { readArguments, USAGE } from './arguments.ts';
import { CONTESTANTS, findMissing } from './contestants.ts';
import { compare, isSure } from './comparison.ts';
import { toMarkdown } from './markdown.ts';
import type { Measurement } from './measurement.ts';
import { toPicture } from './picture.ts';
import { toResult } from './result.ts';
import type { WorkResult } from './result.ts';
import { intervalOfMedian } from './statistics.ts';
import { checkTargets } from './targets.ts';
import { warningsOf } from './warnings.ts';
import { WORKS } from './works/index.ts';
import { STARTS } from './works/starts.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

async function bench(
  given: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ stdout: string; stderr: string }> {
  const words = ['--conditions=gatehouse:source', MAIN, ...given];
  const env = { ...process.env, ...compileCache, ...environment };
  return promisify(execFile)(process.execPath, words, { env });
}

function round(cpu: number, others = 0): Measurement {
  return {
    operations: 10,
    perSecond: 100,
    cpu,
    p50: 1,
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
  t.timeout(300_000, 'a dozen servers are started');
  const missing = new Set<string>((await findMissing()).keys());
  const all = Object.entries(CONTESTANTS).flatMap(([name, { peer }]) =>
    missing.has(name) || peer ? [] : [name],
  );
  const { stdout } = await bench(['--smoke', '--json', '--with', all.join()]);
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
      { what: 'time of an operation, of the first row’s', met: true },
      { what: 'p50, of the first row’s', met: true },
      { what: 'peak memory, of the first row’s', met: true },
    ],
  );
  const [uneven] = warningsOf(result);
  t.regex(uneven!, /differs from round to round: plain 2\.00 x, gatehouse 1\.71 x/);
  const noisy = toResult(work, new Map([['plain', [round(100, 0.4)]]]));
  t.deepEqual(warningsOf(noisy), ['refresh: other processes used 40 % of the CPU time']);
});

test('a target of another contestant than the reference is compared with its rounds', (t) => {
  const work = { name: 'refresh', about: '' };
  const rounds = new Map([
    ['plain', [round(100), round(100)]],
    ['plain-knex', [round(200), round(400)]],
    ['gatehouse', [round(160), round(320)]],
  ] as const);
  const result = toResult(work, rounds);
  const found = checkTargets([result]).find(({ what }) => what === 'CPU time, of plain-knex’s');
  t.like(found, { value: 0.8, met: true });
  const slower = toResult(
    work,
    new Map([
      ['plain', [round(100)]],
      ['plain-openid', [round(100)]],
      ['gatehouse', [{ ...round(75), perSecond: 80 }]],
    ] as const),
  );
  t.deepEqual(
    checkTargets([slower])
      .filter(({ what }) => what.endsWith('of plain-openid’s'))
      .map(({ what, value, met }) => ({ what, value, met })),
    [
      { what: 'time of an operation, of plain-openid’s', value: 1.25, met: false },
      { what: 'p50, of plain-openid’s', value: 1, met: true },
      { what: 'peak memory, of plain-openid’s', value: 1, met: true },
      { what: 'CPU time, of plain-openid’s', value: 0.75, met: true },
    ],
  );
  t.false(checkTargets([result]).some(({ what }) => what.includes('node-oauth2-server')));
});

test('the growth with several processes is compared with that of plain', (t) => {
  const rounds = new Map([
    ['gatehouse', [round(200), round(400)]],
    ['gatehouse-workers', [round(300), round(600)]],
    ['plain', [round(100), round(200)]],
    ['plain-workers', [round(125), round(250)]],
  ] as const);
  const result = toResult({ name: 'client-credentials-workers', about: '' }, rounds);
  t.deepEqual(
    checkTargets([result]).map(({ what, value, met }) => ({ what, value, met })),
    [
      { what: 'CPU time, of the first row’s', value: 1.5, met: false },
      { what: 'CPU time, of one process’s, beside the growth of plain’s', value: 1.2, met: false },
    ],
  );
});

test('the first table in Markdown has the ratios to others, as far as they are known', (t) => {
  const results = [
    toResult(
      { name: 'refresh', about: 'a refresh' },
      new Map([
        ['plain', Array.from({ length: 6 }, () => round(100))],
        ['plain-openid', Array.from({ length: 6 }, () => round(200))],
        ['plain-knex', [150, 150, 160, 240, 150, 150].map((cpu) => round(cpu))],
        ['gatehouse', [118, 119, 120, 120, 121, 122].map((cpu) => round(cpu))],
        ['gatehouse-openid', Array.from({ length: 6 }, () => round(190))],
      ] as const),
    ),
    toResult(
      { name: 'guard-1', about: 'a route' },
      new Map([
        ['koa-router', [round(40)]],
        ['gatehouse', [round(60)]],
      ] as const),
    ),
  ];
  const [conditions, first, ...others] = toMarkdown('Measured.', results, checkTargets(results)).split(
    '\n\n',
  );
  t.is(conditions, 'Measured.');
  t.is(
    first,
    `|  | CPU µs | per second | oidc-provider in memory | oidc-provider on Knex and SQLite | Koa and koa-router alone |
| --- | --: | --: | --: | --: | --: |
| a refresh | 120 | 100 | 1.20 (1.18 to 1.22) | not sure |  |
| a refresh, with an ID token | 190 | 100 | 0.95 (0.95 to 0.95) |  |  |
| a route | 60.0 | 100 |  |  | not sure |`,
  );
  t.deepEqual(
    others.filter((text) => text.startsWith('#')),
    ['### refresh', '### guard-1', '### Targets'],
  );
  t.false(isSure(results[0]!));
  const picture = toPicture(results.flatMap(compare));
  t.deepEqual(
    Array.from(picture.matchAll(/class="ratio"[^>]*>([^<]+)/g), ([, ratio]) => ratio),
    ['1.20', '0.95'],
  );
  t.true(picture.includes('>a refresh, with an ID token</text>'));
});

test('the interval of a median is that of the sign test', (t) => {
  t.is(intervalOfMedian([1, 2, 3, 4, 5]), undefined);
  t.deepEqual(intervalOfMedian([6, 5, 4, 3, 2, 1]), { low: 1, high: 6 });
  // Tables of the sign test, such as those of W. J. Conover, Practical Nonparametric Statistics: of 20 values, the 6th and the 15th.
  t.deepEqual(intervalOfMedian(Array.from({ length: 20 }, (_, index) => index + 1)), { low: 6, high: 15 });
});

test('--peers compares with other projects, which npm installs', async (t) => {
  t.timeout(600_000, 'npm may have to get a hundred packages');
  const peers = ['node-oauth2-server', 'better-auth'];
  const works = ['client-credentials', 'again', 'code-exchange', 'refresh', 'start-up'];
  const given = ['--peers', '--smoke', '--json', '--with', peers.join(), '--only', works.join()];
  const run = await bench(given).catch((error: Error & { stderr: string }) => error);
  if (run instanceof Error) {
    if (process.env['CI'] || !run.stderr.startsWith('--peers: npm cannot install')) throw run;
    t.log('Skipped: the registry of npm is not reached');
    t.pass();
    return;
  }
  const { results } = JSON.parse(run.stdout) as { results: WorkResult[] };
  t.deepEqual(
    results.map(({ name, rows }) => [name, rows.map(({ contestant }) => contestant)]),
    works.map((name) => [name, ['plain', ...peers]]),
  );
});

test('--peers says what it needs when npm cannot install', async (t) => {
  await using cache = await temporaryDirectory();
  const { code, stderr } = (await t.throwsAsync(
    bench(['--peers', '--smoke', '--only', 'refresh'], {
      XDG_CACHE_HOME: cache.path,
      npm_config_cache: cache.path,
      npm_config_registry: 'http://127.0.0.1:9',
      npm_config_fetch_retries: '0',
    }),
  )) as Error & { code: number; stderr: string };
  t.is(code, 1);
  t.regex(stderr, /^--peers: npm cannot install \S+peers\/package\.json in \S+; it needs its registry/);
  t.regex(stderr, /ECONNREFUSED/);
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
  t.throws(() => readArguments(['--with', 'better-auth']), { message: /there is no better-auth/ });
  t.deepEqual(readArguments(['--peers', '--with', 'better-auth']).contestants, ['better-auth']);
  t.throws(() => readArguments(['--workers', '1.5']), { message: '--workers takes a whole number, not 1.5' });
  t.throws(() => readArguments(['--rounds', 'many']), {
    message: '--rounds takes a number above 0, not many',
  });
  t.regex(USAGE, /--smoke/);
});
