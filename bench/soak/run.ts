import { setTimeout } from 'node:timers/promises';

import type { KillEvery, SoakArguments } from './arguments.ts';
import { Checker } from './checker.ts';
import type { CheckerSettings } from './token-rules.ts';
import { prepareDatabase } from './database.ts';
import type { SoakDatabase } from './database.ts';
import { runSome } from './mix.ts';
import { Nodes } from './nodes.ts';
import { CODE_LIFETIME, REFRESH_GRACE, REVOCATION_LAG } from './platform.ts';
import { Random } from './random.ts';
import { Recorder } from './recorder.ts';
import { callApi, refreshOnce } from './token-requests.ts';
import { World } from './world.ts';

export const CHECKER_SETTINGS: CheckerSettings = {
  revocationLag: REVOCATION_LAG * 1000,
  refreshGrace: REFRESH_GRACE * 1000,
  codeLifetime: CODE_LIFETIME * 1000,
};

/** The figures of a run. */
export interface Outcome {
  readonly database: SoakDatabase['name'];
  readonly seed: number;
  readonly nodes: number;
  readonly answers: Recorder['answers'];
  readonly operations: number;
  readonly kills: number;
  /** In milliseconds. */
  readonly elapsed: number;
  /** CPU time, in milliseconds; 0 where the system does not say. */
  readonly nodesCpu: number;
  readonly driverCpu: number;
  readonly checker: Pick<Checker, 'violations' | 'violationCount'>;
  /** What the servers have logged as errors. */
  readonly errors: readonly string[];
}

export interface RunOptions extends Pick<
  SoakArguments,
  'concurrency' | 'killEvery' | 'nodes' | 'operations' | 'seed' | 'sources'
> {
  readonly database: SoakDatabase;
  /** Of the log of answers. */
  readonly answersFile: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export interface Progress {
  readonly operations: number;
  readonly kills: number;
  readonly violations: number;
  readonly elapsed: number;
}

// In milliseconds.
const PROGRESS_EVERY = 250;
const KILL_TICK = 20;

export async function run(options: RunOptions): Promise<Outcome> {
  const { answersFile, concurrency, database, killEvery, onProgress, operations, seed, signal, sources } =
    options;
  const checker = new Checker(CHECKER_SETTINGS);
  const recorder = new Recorder(checker, answersFile);
  const random = new Random(seed);
  const clients = await prepareDatabase(database.address);
  const nodes = await Nodes.start(options.nodes, { address: database.address, fromSources: sources }, random);
  const world = new World({ nodes, recorder, random, ...clients });
  const startedAt = performance.now();
  const cpuAtStart = process.cpuUsage();
  const progress = (): Progress => ({
    operations: recorder.count,
    kills: nodes.kills,
    violations: checker.violationCount,
    elapsed: performance.now() - startedAt,
  });
  const showing = setInterval(() => onProgress(progress()), PROGRESS_EVERY);
  const stopKilling = startKilling(nodes, killEvery, () => recorder.count);
  try {
    const work = async (): Promise<void> => {
      while (recorder.count < operations && !signal.aborted) await runSome(world);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    await stopKilling();
    if (!signal.aborted) await lookAtEverything(world, concurrency);
  } finally {
    clearInterval(showing);
    await stopKilling();
    await nodes[Symbol.asyncDispose]();
    await recorder.close();
  }
  const { elapsed, kills } = progress();
  const { user, system } = process.cpuUsage(cpuAtStart);
  return {
    database: database.name,
    seed,
    nodes: options.nodes,
    answers: recorder.answers,
    operations: recorder.count,
    kills,
    elapsed,
    nodesCpu: nodes.cpuTime,
    driverCpu: (user + system) / 1000,
    checker,
    errors: nodes.errors,
  };
}

/** Returns a function that stops it, and resolves when no node is being killed. */
function startKilling(nodes: Nodes, every: KillEvery, countOperations: () => number): () => Promise<void> {
  const [interval, measure] =
    'operations' in every
      ? [every.operations, countOperations]
      : [every.milliseconds, () => performance.now()];
  if (interval === 0) return async () => {};
  let next = measure() + interval;
  let killing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    if (measure() < next) return;
    next += interval;
    killing = killing.then(async () => nodes.killOne());
  }, KILL_TICK);
  return async () => {
    clearInterval(timer);
    await killing;
  };
}

/** Uses every token that the clients have once more, when all nodes run and know of every revocation. */
async function lookAtEverything(world: World, concurrency: number): Promise<void> {
  await world.nodes.allRunning();
  await setTimeout(CHECKER_SETTINGS.revocationLag * 1.5);
  const left = [
    ...[...world.connections, ...world.ended].map((connection) => async () => {
      await callApi(world, connection.access);
      await refreshOnce(world, connection, connection.refresh);
    }),
    ...world.serviceTokens.map((token) => async () => void (await callApi(world, token))),
  ];
  const work = async (): Promise<void> => {
    for (let look = left.pop(); look; look = left.pop()) await look();
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}
