import { OAuthClient } from './client/oauth-client.ts';
import { CONTESTANTS } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import { measureLoad } from './measure-load.ts';
import type { Load } from './measure-load.ts';
import { measureStart } from './measure-start.ts';
import type { Measurement } from './measurement.ts';
import { profileLoad } from './profile-load.ts';
import type { ProfileSummary } from './profile.ts';
import type { Job } from './protocol.ts';
import type { Rounds } from './result.ts';
import { RunningContestant } from './running-contestant.ts';
import type { Servers } from './servers.ts';
import type { Start } from './works/starts.ts';
import type { Operations, Work } from './works/work.ts';

export interface RoundSettings {
  readonly servers: Servers;
  /** Whether the benchmark itself is tested, and nothing is measured. */
  readonly smoke: boolean;
  readonly rounds: number;
  /** Ends before these rounds when the figures are sure. */
  readonly isSure: ((rounds: Rounds) => boolean) | undefined;
  /** The length of a round of one contestant. */
  readonly seconds: number;
  /** The number of operations of each connection between two calls of `supply`. */
  readonly batch: number;
  /** The number of operations before the first round, during which much CPU time is spent on compiling. */
  readonly warmUp: number;
  /** The maximum number of connections. */
  readonly mostConnections: number;
  /** Called after each measurement. */
  readonly onMeasured: (contestant: ContestantName, measured: Measurement) => void;
  /** If given, each contestant is profiled once after the rounds. */
  readonly onProfile: ((contestant: ContestantName, profile: ProfileSummary) => void) | undefined;
}

/** In milliseconds. */
const LONGEST_WARM_UP = 15_000;

interface Ready {
  readonly name: ContestantName;
  readonly server: RunningContestant;
  readonly operations: Operations;
}

/** Measures a work. The servers of all contestants run all the time, and are measured in turn. */
export async function runLoad(
  work: Work,
  names: readonly ContestantName[],
  settings: RoundSettings,
): Promise<Rounds> {
  await using scope = new AsyncDisposableStack();
  const connections = Math.min(work.connections, settings.mostConnections);
  const contestants = await allOf(
    names.map(async (name) => prepareContestant(work, name, { settings, connections, scope })),
  );
  const { fixed } = settings.smoke ? {} : work;
  const load: Load = {
    connections,
    seconds: settings.seconds,
    batch: settings.batch,
    operations: fixed?.operations,
  };
  const before = Math.min(settings.warmUp, work.warmUp ?? Infinity);
  const { rounds, isSure } = fixed ? { rounds: fixed.rounds } : settings;
  for (const { server, operations } of contestants) await warmUp(server, operations, load, before);
  const measured = await measureInTurn(
    contestants,
    { ...settings, rounds, isSure },
    async ({ name, server, operations }) => {
      if (!CONTESTANTS[name].prunes) return measureLoad(server, operations, load);
      await server.startPruning();
      const measurement = await measureLoad(server, operations, load);
      if (!settings.smoke) await server.stopPruning();
      return measurement;
    },
  );
  for (const { name, server, operations } of settings.onProfile ? contestants : []) {
    settings.onProfile!(name, await profileLoad(server, operations, load));
  }
  return measured;
}

async function warmUp(
  server: RunningContestant,
  operations: Operations,
  load: Load,
  wanted: number,
): Promise<void> {
  const end = performance.now() + LONGEST_WARM_UP;
  for (let done = 0; done < wanted && performance.now() < end;) {
    done += (await measureLoad(server, operations, { ...load, seconds: 1 })).operations;
  }
}

async function prepareContestant(
  { prepare }: Work,
  name: ContestantName,
  {
    settings,
    connections,
    scope,
  }: { settings: RoundSettings; connections: number; scope: AsyncDisposableStack },
): Promise<Ready> {
  const server = await settings.servers.start(name, scope);
  const { encoding, route } = CONTESTANTS[name];
  const client = scope.use(new OAuthClient(server.listening, { connections, encoding, route }));
  return { name, server, operations: await prepare(client, connections, settings.smoke) };
}

/** Measures the start-up of the contestants, with existing databases. */
export async function runStarts(
  { first }: Start,
  names: readonly ContestantName[],
  settings: RoundSettings,
): Promise<Rounds> {
  await using scope = new AsyncDisposableStack();
  const contestants = await allOf(
    names.map(async (name) => ({ name, job: await startOnce(name, settings, scope) })),
  );
  return await measureInTurn(contestants, settings, async ({ name, job }) =>
    measureStart(CONTESTANTS[name], job, first),
  );
}

/** Starts a contestant once, so that its database exists; returns the options for the next start. */
async function startOnce(
  name: ContestantName,
  { servers }: RoundSettings,
  scope: AsyncDisposableStack,
): Promise<Job> {
  const { job } = await servers.prepareJob(name, scope);
  if (job.database === undefined) return job;
  await using first = await RunningContestant.start(CONTESTANTS[name], job);
  return { ...job, registered: first.listening.registered };
}

/** Waits for all, also when one fails, so that nothing is created after the end of the scope. */
async function allOf<T>(making: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(making);
  return Promise.all(making);
}

async function measureInTurn<One extends { readonly name: ContestantName }>(
  contestants: readonly One[],
  { rounds, isSure, onMeasured }: RoundSettings,
  measure: (contestant: One) => Promise<Measurement>,
): Promise<Rounds> {
  const measured = new Map<ContestantName, Measurement[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of contestants) {
      const measurement = await measure(contestant);
      measured.get(contestant.name)!.push(measurement);
      onMeasured(contestant.name, measurement);
    }
    if (isSure?.(measured)) break;
  }
  return measured;
}
