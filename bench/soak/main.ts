// Uses several nodes for long, kills them, and checks every answer: npm run soak -- --help
import { execFile } from 'node:child_process';
import { createReadStream, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

import { readArguments, USAGE } from './arguments.ts';
import type { SoakArguments } from './arguments.ts';
import { Checker } from './checker.ts';
import { createDatabase } from './database.ts';
import type { Line } from './operations.ts';
import { count, duration, report, reportViolations } from './report.ts';
import { CHECKER_SETTINGS, run } from './run.ts';
import type { Progress } from './run.ts';

const BUILD = join(import.meta.dirname, '../../build.ts');

// 128 plus the number of SIGINT.
const INTERRUPTED = 130;

// In milliseconds, where the progress is no line that is written over.
const NOTE_EVERY = 10_000;

try {
  const wanted = readArguments(process.argv.slice(2));
  if (wanted.help) process.stdout.write(USAGE);
  else if (wanted.check === undefined) await soak(wanted);
  else await checkAgain(wanted.check);
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}

async function soak(wanted: SoakArguments): Promise<void> {
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
  process.stderr.write(`seed ${wanted.seed}\n`);
  if (!wanted.sources) await promisify(execFile)(process.execPath, [BUILD]);
  const answersFile = wanted.answers ?? join(tmpdir(), `gatehouse-soak-${process.pid}.jsonl`);
  const database = await createDatabase(wanted.database);
  const line = startProgress(wanted.operations);
  try {
    const outcome = await run({
      ...wanted,
      database,
      answersFile,
      signal: interruption.signal,
      onProgress: line.show,
    });
    line.end();
    process.stdout.write(report(outcome, wanted));
    process.stderr.write(reportViolations(outcome.checker, outcome.errors));
    const isWrong = outcome.checker.violationCount > 0;
    if (isWrong) process.stderr.write(`All answers: ${answersFile}\n`);
    else if (wanted.answers === undefined) rmSync(answersFile, { force: true });
    process.exitCode = isWrong ? 1 : interruption.signal.aborted ? INTERRUPTED : 0;
  } finally {
    line.end();
    await database.drop();
  }
}

/** Checks the answers of an earlier run. */
async function checkAgain(file: string): Promise<void> {
  const checker = new Checker(CHECKER_SETTINGS);
  let answers = 0;
  for await (const text of createInterface(createReadStream(file))) {
    const line = JSON.parse(text) as Line;
    if ('begun' in line) {
      checker.begin(line.begun);
    } else {
      checker.end(line.ended);
      answers += 1;
    }
  }
  process.stdout.write(`${count(answers)} answers, ${count(checker.violationCount)} of them wrong\n`);
  process.stderr.write(reportViolations(checker));
  process.exitCode = checker.violationCount > 0 ? 1 : 0;
}

/** One line that is written over on a terminal, and a line from time to time elsewhere. */
function startProgress(operations: number): { show: (progress: Progress) => void; end: () => void } {
  const { stderr } = process;
  let shownAt = 0;
  return {
    show(progress) {
      const text = describe(progress, operations);
      if (stderr.isTTY) stderr.write(`\r${text.slice(0, stderr.columns - 1)}\u{1B}[K`);
      else if (progress.elapsed - shownAt >= NOTE_EVERY) {
        shownAt = progress.elapsed;
        stderr.write(`${text}\n`);
      }
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u{1B}[K');
    },
  };
}

function describe({ elapsed, kills, operations: done, violations }: Progress, operations: number): string {
  const perSecond = (done * 1000) / elapsed;
  const rest = Math.max(operations - done, 0) / Math.max(perSecond, 1);
  return [
    `${count(done)} of ${count(operations)} operations`,
    `${count(Math.round(perSecond))}/s`,
    `${duration(rest * 1000)} left`,
    `${count(kills)} kills`,
    `${count(violations)} wrong answers`,
  ].join(', ');
}
