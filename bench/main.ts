// Compares this package with oidc-provider: npm run bench -- --help
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { readArguments, USAGE } from './arguments.ts';
import type { BenchArguments } from './arguments.ts';
import { compare, isSure } from './comparison.ts';
import { findMissing } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import { installPeers, PeersError } from './install-peers.ts';
import { toMarkdown } from './markdown.ts';
import { toPicture } from './picture.ts';
import type { ProfileSummary } from './profile.ts';
import { reportProfile, reportTargets, reportWork } from './report.ts';
import { toResult } from './result.ts';
import type { WorkResult } from './result.ts';
import { runLoad, runStarts } from './run-rounds.ts';
import type { RoundSettings } from './run-rounds.ts';
import { Servers } from './servers.ts';
import { checkTargets } from './targets.ts';
import { noiseOf, warningsOf } from './warnings.ts';
import { WORKS } from './works/index.ts';
import { STARTS } from './works/starts.ts';

const BUILD = join(import.meta.dirname, '../build.ts');

try {
  const wanted = readArguments(process.argv.slice(2));
  if (wanted.help) process.stdout.write(USAGE);
  else await bench(wanted);
} catch (error) {
  if (error instanceof PeersError) {
    report(error.message);
    process.exitCode = 1;
  } else if (error instanceof TypeError) {
    report(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else {
    throw error;
  }
}

async function bench(wanted: BenchArguments): Promise<void> {
  // The published build is measured.
  if (!wanted.smoke) await promisify(execFile)(process.execPath, [BUILD]);
  const peers = wanted.peers ? await installPeers() : undefined;
  await using servers = new Servers({ ...wanted, peers });
  const missing = await findMissing();
  for (const [name, remedy] of missing) report(`${name} is left out: ${remedy}`);
  const results: WorkResult[] = [];
  const warnings: string[] = [];
  const profiles: Record<string, Record<string, ProfileSummary>> = {};

  for (const work of [...WORKS, ...STARTS]) {
    const names = selectContestants(work.contestants, wanted, missing);
    if (!wanted.works.includes(work.name) || names.length === 0) continue;
    const settings: RoundSettings = {
      ...wanted,
      servers,
      isSure: wanted.untilSure ? (rounds) => isSure(toResult(work, rounds)) : undefined,
      onMeasured(name, { cpu, perSecond }) {
        report(`${work.name} ${name}: ${cpu.toFixed(1)} us of CPU each, ${perSecond.toFixed(1)}/s`);
      },
      onProfile: wanted.profile
        ? (name, profile) => {
            profiles[work.name] = { ...profiles[work.name], [name]: profile };
            if (!wanted.json && !wanted.markdown) print(reportProfile(`${work.name}, ${name}`, profile));
          }
        : undefined,
    };
    const rounds =
      'prepare' in work ? await runLoad(work, names, settings) : await runStarts(work, names, settings);
    const result = toResult(work, rounds);
    results.push(result);
    // The figures of one short round mean nothing.
    if (!wanted.smoke) warnings.push(...warningsOf(result));
    if (!wanted.json && !wanted.markdown) print(reportWork(result));
  }

  if (wanted.picture !== undefined) await writeFile(wanted.picture, toPicture(results.flatMap(compare)));
  const targets = wanted.smoke ? [] : checkTargets(results);
  if (wanted.json) {
    print(JSON.stringify({ machine: machine(), settings: wanted, results, targets, profiles, warnings }));
  } else if (wanted.markdown) {
    print(toMarkdown(conditionsOf(wanted, results), results, targets));
  } else {
    if (targets.length > 0) print(reportTargets(targets));
    for (const warning of warnings) print(`Too noisy: ${warning}`);
  }
}

/** The reference, which is always included, and the contestants that were asked for. */
function selectContestants(
  [reference, ...others]: readonly ContestantName[],
  { contestants }: BenchArguments,
  missing: ReadonlyMap<ContestantName, string>,
): readonly ContestantName[] {
  const wanted = others.filter((name) => contestants.includes(name) && !missing.has(name));
  return wanted.length === 0 || reference === undefined ? [] : [reference, ...wanted];
}

/** How figures came about, in a sentence. */
function conditionsOf({ seconds }: BenchArguments, results: readonly WorkResult[]): string {
  const { node, processor, processors } = machine();
  const rounds = results.flatMap(({ rows }) => rows.map((row) => row.rounds.length));
  return (
    `Node.js ${node} on ${processors} processors (${processor}), ${Math.min(...rounds)} to ${Math.max(...rounds)} rounds of ${seconds} s. ` +
    noiseOf(results)
  );
}

function machine(): Record<string, string | number> {
  return { node: process.version, processor: cpus()[0]?.model ?? '', processors: availableParallelism() };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints progress and other text that is not a result. */
function report(text: string): void {
  process.stderr.write(`${text}\n`);
}
