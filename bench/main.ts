// Compares this package with what it is built on: npm run bench -- --help
import { execFile } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { readArguments, START_UP, USAGE } from './arguments.ts';
import type { BenchArguments } from './arguments.ts';
import { findMissing } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import type { ProfileSummary } from './profile.ts';
import { reportProfile, reportVerdicts, reportWork } from './report.ts';
import { toResult } from './result.ts';
import type { WorkResult } from './result.ts';
import { runLoad, runStarts } from './run-rounds.ts';
import type { RoundSettings } from './run-rounds.ts';
import { Servers } from './servers.ts';
import { judge } from './targets.ts';
import { warningsOf } from './warnings.ts';
import { WORKS } from './works/index.ts';

const BUILD = join(import.meta.dirname, '../build.ts');

const STARTS = {
  name: START_UP,
  about: 'from the start of the process to its first token, on a database that is there',
  contestants: ['plain', 'gatehouse', 'gatehouse-postgresql', 'floor'],
} as const satisfies { name: string; about: string; contestants: readonly ContestantName[] };

try {
  const wanted = readArguments(process.argv.slice(2));
  if (wanted.help) process.stdout.write(USAGE);
  else await bench(wanted);
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}

async function bench(wanted: BenchArguments): Promise<void> {
  // Measured is what people install.
  if (!wanted.smoke) await promisify(execFile)(process.execPath, [BUILD]);
  await using servers = new Servers(wanted);
  const missing = await findMissing();
  for (const [name, remedy] of missing) note(`${name} is left out: ${remedy}`);
  const results: WorkResult[] = [];
  const warnings: string[] = [];
  const profiles: Record<string, Record<string, ProfileSummary>> = {};

  for (const work of [...WORKS, STARTS]) {
    const names = whoTakesPart(work.contestants, wanted, missing);
    if (!wanted.works.includes(work.name) || names.length === 0) continue;
    const settings: RoundSettings = {
      ...wanted,
      servers,
      onMeasured(name, { cpu, perSecond }) {
        note(`${work.name} ${name}: ${cpu.toFixed(1)} us of CPU each, ${perSecond.toFixed(1)}/s`);
      },
      onProfile: wanted.profile
        ? (name, profile) => {
            profiles[work.name] = { ...profiles[work.name], [name]: profile };
            if (!wanted.json) print(reportProfile(`${work.name}, ${name}`, profile));
          }
        : undefined,
    };
    const rounds =
      'prepare' in work ? await runLoad(work, names, settings) : await runStarts(names, settings);
    const result = toResult(work, rounds);
    results.push(result);
    // One short round shows that it works, and says nothing of how well.
    if (!wanted.smoke) warnings.push(...warningsOf(result));
    if (!wanted.json) print(reportWork(result));
  }

  const targets = wanted.smoke ? [] : judge(results);
  if (wanted.json) {
    print(JSON.stringify({ machine: machine(), settings: wanted, results, targets, profiles, warnings }));
  } else {
    if (targets.length > 0) print(reportVerdicts(targets));
    for (const warning of warnings) print(`Too noisy to say anything: ${warning}`);
  }
}

/** Whom the ratios are against is always there. */
function whoTakesPart(
  [reference, ...others]: readonly ContestantName[],
  { contestants }: BenchArguments,
  missing: ReadonlyMap<ContestantName, string>,
): readonly ContestantName[] {
  const wanted = others.filter((name) => contestants.includes(name) && !missing.has(name));
  return wanted.length === 0 || reference === undefined ? [] : [reference, ...wanted];
}

function machine(): Record<string, string | number> {
  return { node: process.version, processor: cpus()[0]?.model ?? '', processors: availableParallelism() };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Progress, and what is not a result. */
function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
